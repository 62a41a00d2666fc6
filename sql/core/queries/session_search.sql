-- name: search_bounds
-- Until the transaction ends: no search takes longer, and none is planned for a server that is good at long ones. Gives
-- the number of the newest message, and whether `search_parts` has its index (it needs pg_trgm).
SELECT set_config('statement_timeout', %(milliseconds)s::text, true), set_config('jit', 'off', true),
       set_config('plan_cache_mode', 'force_custom_plan', true),
       COALESCE(pg_sequence_last_value(pg_get_serial_sequence('messages', 'number')::regclass), 0) AS newest,
       COALESCE((SELECT indnatts = 2 FROM pg_index WHERE indexrelid = to_regclass('messages_words')), false) AS has_parts;

-- name: profiles
SELECT id FROM profiles ORDER BY id;

-- name: search_words
-- Messages that hold the words, place by place; each of `places` names the profiles, roles and the block. `words`, without
-- phrases and exclusions, is answered by the index alone; `whole` is asked of at most `looked_at` of its messages.
SELECT looked.id
FROM (
    SELECT hit.id, hit.words
    FROM unnest(%(places)s::text[]) AS place
    CROSS JOIN LATERAL (
        SELECT m.id, m.words FROM messages m
        WHERE m.words @@ place::tsquery AND m.words @@ to_tsquery('pg_catalog.simple', %(words)s)
          AND numnode(to_tsquery('pg_catalog.simple', %(words)s)) > 0
          AND (NOT m.active OR m.session_id IS DISTINCT FROM %(live)s::uuid)
        ORDER BY m.number * %(step)s LIMIT %(looked_at)s
    ) hit
    LIMIT %(looked_at)s
) looked
WHERE looked.words @@ to_tsquery('pg_catalog.simple', %(whole)s)
LIMIT %(candidates)s;

-- name: search_near_words
-- The same for beginnings of words, in one place. The index would first read what begins so in all messages; it only
-- finds the place here (it does not answer for an expression), and every message of it is asked.
SELECT m.id FROM messages m
WHERE m.words @@ %(place)s::tsquery AND COALESCE(m.words, '') @@ to_tsquery('pg_catalog.simple', %(whole)s)
  AND (NOT m.active OR m.session_id IS DISTINCT FROM %(live)s::uuid)
ORDER BY m.number * %(step)s LIMIT %(candidates)s;

-- name: search_parts
-- Messages that hold texts which need not be whole words, place by place.
SELECT hit.id
FROM unnest(%(places)s::text[]) AS place
CROSS JOIN LATERAL (
    SELECT m.id FROM messages m
    WHERE m.words @@ place::tsquery AND (NOT m.active OR m.session_id IS DISTINCT FROM %(live)s::uuid)
      AND CASE WHEN m.role = 'tool_result' THEN '' ELSE m.search_text END ILIKE %(longest)s
      AND m.search_text ILIKE ALL (%(patterns)s::text[])
      AND NOT m.words @@ to_tsquery('pg_catalog.simple', %(unwanted)s)
    ORDER BY m.number * %(step)s LIMIT %(candidates)s
) hit
LIMIT %(candidates)s;

-- name: search_newest_parts
-- The same without an index, among the newest messages: `near` names the newest blocks.
SELECT recent.id
FROM (
    SELECT m.id, m.role, m.search_text, m.words FROM messages m
    WHERE m.words @@ %(near)s::tsquery AND (NOT m.active OR m.session_id IS DISTINCT FROM %(live)s::uuid)
    ORDER BY m.number DESC LIMIT %(unindexed)s
) recent
WHERE recent.role <> 'tool_result' AND recent.search_text ILIKE ALL (%(patterns)s::text[])
  AND NOT recent.words @@ to_tsquery('pg_catalog.simple', %(unwanted)s)
LIMIT %(candidates)s;

-- name: search_titles
-- Of the sessions with the newest activity, those whose title holds the words; with the message that stands for the
-- session: its first one. `alternatives`, what any such title holds, leaves few to be looked at word by word.
SELECT first.id
FROM (SELECT s.id, s.title, s.profile_id FROM sessions s WHERE s.profile_id = ANY(%(profiles)s)
      ORDER BY s.last_activity_at DESC, s.id DESC LIMIT %(titles)s) recent
CROSS JOIN LATERAL (
    SELECT m.id FROM messages m WHERE m.session_id = recent.id AND m.role = 'user' ORDER BY m.ordinal LIMIT 1
) first
WHERE recent.id IS DISTINCT FROM %(live)s::uuid
  AND CASE WHEN EXISTS (SELECT 1 FROM unnest(%(alternatives)s::text[]) AS alternative
                        WHERE recent.title ILIKE ALL (string_to_array(alternative, E'\x1f')))
           THEN to_tsvector('pg_catalog.simple', searched_text(recent.title)) @@ to_tsquery('pg_catalog.simple', %(whole)s)
      END
LIMIT %(most_titles)s;

-- name: found
-- What was found, in its session's tree.
SELECT m.id, m.session_id, s.root_session_id, m.ordinal, m.number, t.undone_at IS NOT NULL AS is_undone,
       ts_rank_cd(m.words, to_tsquery('pg_catalog.simple', %(words)s), 1) AS rank
FROM messages m
CROSS JOIN LATERAL (SELECT root_session_id FROM sessions WHERE id = m.session_id OFFSET 0) s
CROSS JOIN LATERAL (SELECT undone_at FROM turns WHERE id = m.turn_id OFFSET 0) t
WHERE m.id = ANY(%(ids)s) AND (%(with_undone)s OR t.undone_at IS NULL);

-- name: shown
-- Found messages with their texts, and what is to be said of the root session.
SELECT m.id AS message_id, m.session_id, s.id AS root_session_id, m.profile_id, m.ordinal, m.role, m.active AS is_active,
       m.call_id, m.created_at, left(m.search_text, 100000) AS text, s.title, s.tags, s.source, s.parent_session_id,
       s.last_activity_at, s.archived_at IS NOT NULL AS is_archived, own.title AS own_title,
       COALESCE(s.options ->> 'model', s.frozen_prompt ->> 'model') AS model
FROM messages m JOIN sessions own ON own.id = m.session_id JOIN sessions s ON s.id = own.root_session_id
WHERE m.id = ANY(%(ids)s);

-- name: window
-- Messages of a session around one of them, rewound ones included: `before` and `after` it, and itself.
SELECT * FROM (
    (SELECT m.id, m.ordinal, m.role, m.active, m.body::text AS body, m.created_at FROM messages m
     WHERE m.session_id = %(session_id)s AND m.ordinal <= %(ordinal)s ORDER BY m.ordinal DESC LIMIT %(before)s + 1)
    UNION ALL
    (SELECT m.id, m.ordinal, m.role, m.active, m.body::text AS body, m.created_at FROM messages m
     WHERE m.session_id = %(session_id)s AND m.ordinal > %(ordinal)s ORDER BY m.ordinal LIMIT %(after)s)
) around ORDER BY ordinal;

-- name: said
-- The first or (`step` -1) last messages of a session in which somebody said something.
SELECT m.id, m.ordinal, m.role, m.active, m.body::text AS body, m.created_at FROM messages m
WHERE m.session_id = %(session_id)s AND m.role <> 'tool_result' AND m.search_text <> ''
ORDER BY m.ordinal * %(step)s LIMIT %(limit)s;

-- name: place_of_message
SELECT m.session_id, m.ordinal, s.root_session_id, m.active FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.id = %(message_id)s AND m.profile_id = %(profile_id)s;

-- name: ordinals
-- First and last ordinal of a session's messages; without holes.
SELECT COALESCE(min(ordinal), 0) AS first, COALESCE(max(ordinal), 0) AS last FROM messages
WHERE session_id = %(session_id)s;

-- name: recent
-- The roots with the newest activity in a profile, with the first thing that was said.
SELECT s.id, s.title, s.tags, s.source, s.created_at, s.last_activity_at,
       COALESCE(s.options ->> 'model', s.frozen_prompt ->> 'model') AS model,
       (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messages,
       (SELECT left(m.search_text, 300) FROM messages m WHERE m.session_id = s.id AND m.role = 'user'
        ORDER BY m.ordinal LIMIT 1) AS preview
FROM sessions s
WHERE s.profile_id = %(profile_id)s AND s.parent_session_id IS NULL AND s.archived_at IS NULL
  AND s.id <> %(asking_root)s
ORDER BY s.last_activity_at DESC, s.id DESC LIMIT %(limit)s;
