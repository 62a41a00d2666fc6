-- name: find_in_session
-- Ordinals of the messages before %(before)s that hold a text, newest first, one row for each part of a message that a
-- reader sees apart: its words, its thinking, each of its calls. A second look drops marks of emphasis and line breaks.
SELECT m.ordinal
FROM messages m JOIN turns t ON t.id = m.turn_id
WHERE m.session_id = %(session_id)s AND m.ordinal < %(before)s AND t.undone_at IS NULL AND m.role <> 'tool_result'
  AND (m.search_text ILIKE %(pattern)s OR translate(m.search_text, E'\n*`', ' ') ILIKE %(pattern)s)
UNION ALL
SELECT m.ordinal
FROM messages m JOIN turns t ON t.id = m.turn_id
WHERE m.session_id = %(session_id)s AND m.ordinal < %(before)s AND t.undone_at IS NULL AND m.role = 'assistant'
  AND json_typeof(m.body -> 'blocks') = 'array'
  AND EXISTS (SELECT 1 FROM json_array_elements(m.body -> 'blocks') AS block WHERE block ->> 'thinking' ILIKE %(pattern)s)
UNION ALL
SELECT m.ordinal
FROM tool_calls c JOIN messages m ON m.id = c.message_id JOIN turns t ON t.id = m.turn_id
WHERE c.session_id = %(session_id)s AND m.ordinal < %(before)s AND t.undone_at IS NULL
  AND (c.name ILIKE %(pattern)s OR c.result ILIKE %(pattern)s
       OR EXISTS (SELECT 1 FROM json_each_text(c.args) AS arg WHERE arg.value ILIKE %(pattern)s))
ORDER BY 1 DESC;
