-- name: custom_plans
-- Until the transaction ends: conditions that were not asked for cost nothing, and keys are found by their index.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);

-- name: list_edge
-- The last row of a scan of bounded length below a place of the list; none when the list ends before.
SELECT s.last_activity_at, s.id FROM sessions s
WHERE (s.last_activity_at, s.id) < (COALESCE(%(before)s::timestamptz, 'infinity'),
                                    COALESCE(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY s.last_activity_at DESC, s.id DESC
OFFSET %(skip)s LIMIT 1;

-- name: list_found
-- Sessions from `edge` up to, and without, `before` that the filter lets through. Without a filter children are left
-- out: they come with their parent.
SELECT s.id, s.last_activity_at FROM sessions s
WHERE (s.last_activity_at, s.id) < (COALESCE(%(before)s::timestamptz, 'infinity'),
                                    COALESCE(%(before_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  AND (s.last_activity_at, s.id) >= (COALESCE(%(edge)s::timestamptz, '-infinity'),
                                     COALESCE(%(edge_id)s::uuid, '00000000-0000-0000-0000-000000000000'))
  AND (%(among)s::uuid[] IS NULL OR s.id = ANY(%(among)s::uuid[]))
  AND (s.archived_at IS NOT NULL) = %(archived)s::boolean
  AND (%(with_children)s::boolean OR s.parent_session_id IS NULL)
  AND (%(profile_id)s::text IS NULL OR s.profile_id = %(profile_id)s::text)
  AND (%(since)s::timestamptz IS NULL OR s.last_activity_at >= %(since)s::timestamptz)
  AND s.tags @> %(tags)s::text[]
  AND (%(keys)s::text[] = '{}' OR ARRAY(SELECT split_part(tag, ':', 1) FROM unnest(s.tags) tag) @> %(keys)s::text[])
  AND (%(words)s::text[] = '{}'
       OR COALESCE(s.title, '') || ' ' || array_to_string(s.tags, ' ') ILIKE ALL (%(words)s::text[]))
  AND (%(state)s::text IS NULL OR CASE %(state)s::text
        WHEN 'waiting' THEN s.id IN (SELECT a.session_id FROM approvals a WHERE a.status = 'pending'
                                     UNION ALL SELECT a.root_session_id FROM approvals a WHERE a.status = 'pending')
        WHEN 'running' THEN s.id IN (SELECT t.session_id FROM turns t WHERE t.completed_at IS NULL)
        WHEN 'queued' THEN s.id IN (SELECT q.session_id FROM queued_messages q)
        WHEN 'unseen' THEN s.parent_session_id IS NULL AND COALESCE(
            (SELECT t.status <> 'cancelled' AND t.completed_at > COALESCE(s.seen_at, s.created_at)
             FROM turns t WHERE t.session_id = s.id AND t.undone_at IS NULL ORDER BY t.ordinal DESC LIMIT 1), false)
        WHEN 'idle' THEN s.id NOT IN (SELECT q.session_id FROM queued_messages q) AND COALESCE(
            (SELECT t.status FROM turns t WHERE t.session_id = s.id AND t.undone_at IS NULL
             ORDER BY t.ordinal DESC LIMIT 1), 'completed') = 'completed'
        ELSE %(state)s::text = (SELECT t.status FROM turns t WHERE t.session_id = s.id AND t.undone_at IS NULL
                                ORDER BY t.ordinal DESC LIMIT 1)
      END)
ORDER BY s.last_activity_at DESC, s.id DESC
LIMIT %(limit)s;

-- name: list_pressing
-- What needs the user or works, and the roots above it: a request waits, a turn is open, a message waits, news.
WITH busy AS (
    SELECT a.session_id FROM approvals a WHERE a.status = 'pending'
    UNION SELECT t.session_id FROM turns t WHERE t.completed_at IS NULL
    UNION SELECT q.session_id FROM queued_messages q
)
SELECT busy.session_id AS id FROM busy
UNION SELECT s.root_session_id FROM busy JOIN sessions s ON s.id = busy.session_id
UNION (SELECT s.id FROM sessions s
       WHERE s.parent_session_id IS NULL AND s.archived_at IS NULL
         AND s.last_activity_at > COALESCE(s.seen_at, s.created_at)
       ORDER BY s.last_activity_at DESC, s.id DESC LIMIT %(most_news)s);

-- name: count_listed
-- What the list without a filter holds.
SELECT count(*) AS count FROM sessions WHERE archived_at IS NULL AND parent_session_id IS NULL;

-- name: list_children
SELECT s.id FROM sessions s WHERE s.parent_session_id = %(id)s AND s.archived_at IS NULL ORDER BY s.id LIMIT %(limit)s;

-- name: list_family
-- These sessions with those above them, whose rows tell of them.
SELECT s.id FROM sessions s WHERE s.id = ANY(%(ids)s)
UNION SELECT s.parent_session_id FROM sessions s WHERE s.id = ANY(%(ids)s) AND s.parent_session_id IS NOT NULL
UNION SELECT s.root_session_id FROM sessions s WHERE s.id = ANY(%(ids)s);

-- name: list_rows
-- A root's requests are those of its whole tree.
SELECT s.id, s.profile_id, s.source, s.title, s.tags, s.parent_session_id, s.root_session_id, s.created_at,
       s.last_activity_at, s.queue_paused, s.context, s.options->>'model' AS model, s.archived_at IS NOT NULL AS is_archived,
       t.status AS turn_status, t.started_at AS turn_started_at, t.completed_at AS turn_completed_at,
       s.parent_session_id IS NULL
           AND COALESCE(t.status <> 'cancelled' AND t.completed_at > COALESCE(s.seen_at, s.created_at), false)
           AS is_unseen,
       EXISTS (SELECT 1 FROM approvals e WHERE e.turn_id = t.id AND e.status = 'expired') AS has_expired,
       a.waiting, a.waiting_since, a.waiting_kind,
       (SELECT count(*) FROM queued_messages q WHERE q.session_id = s.id) AS queued,
       (SELECT count(*) FROM sessions c WHERE c.parent_session_id = s.id AND c.archived_at IS NULL) AS children
FROM sessions s
LEFT JOIN LATERAL (
    SELECT id, status, started_at, completed_at FROM turns
    WHERE session_id = s.id AND undone_at IS NULL ORDER BY ordinal DESC LIMIT 1
) t ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS waiting, min(requested_at) AS waiting_since,
           (array_agg(kind ORDER BY requested_at, id))[1] AS waiting_kind
    FROM approvals WHERE status = 'pending' AND s.id IN (session_id, root_session_id)
) a
WHERE s.id = ANY(%(ids)s);
