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
