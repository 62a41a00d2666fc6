-- name: state
SELECT current_setting('server_version') AS version, current_database() AS name,
       pg_database_size(current_database()) AS size_bytes;

-- name: clients
-- Everybody on this database but this process.
SELECT application_name AS name, client_addr::text AS address, count(*)::integer AS connections,
       min(backend_start) AS since
FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
  AND application_name <> current_setting('application_name')
GROUP BY 1, 2 ORDER BY 4, 1;

-- name: tables
-- Of anybody's but the system's.
SELECT current_database() AS name, count(*)::integer AS count
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_';

-- name: beside
-- The database from which this one is renamed and dropped; cos' own servers have no `postgres`.
SELECT datname AS name FROM pg_database
WHERE datname IN ('postgres', 'template1') AND datname <> current_database() ORDER BY datname LIMIT 1;

-- name: limits
-- Connections are those that are still free for this account, whichever limit comes first.
WITH connected AS (SELECT usename, datname FROM pg_stat_activity WHERE datid IS NOT NULL)
SELECT (SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout') AS statement_timeout_ms,
       LEAST(current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
                 - (SELECT count(*) FROM connected),
             NULLIF(r.rolconnlimit, -1) - (SELECT count(*) FROM connected WHERE usename = current_user),
             NULLIF(d.datconnlimit, -1) - (SELECT count(*) FROM connected WHERE datname = current_database())
       ) AS free_connections
FROM pg_roles r, pg_database d
WHERE r.rolname = current_user AND d.datname = current_database();

-- name: missing_extensions
-- Of those that a backup needs. It goes into this database when that is empty, else into a new one of this account.
SELECT w.name, EXISTS (SELECT FROM pg_available_extensions a WHERE a.name = w.name) AS is_there
FROM unnest(%(names)s::text[]) AS w (name)
WHERE NOT (%(is_empty)s AND EXISTS (SELECT FROM pg_extension e WHERE e.extname = w.name))
  AND NOT EXISTS (
      SELECT FROM pg_available_extension_versions v
      WHERE v.name = w.name
        AND (NOT v.superuser OR v.trusted OR current_setting('is_superuser')::boolean)
        AND (NOT %(is_empty)s OR has_database_privilege(current_database(), 'CREATE')));
