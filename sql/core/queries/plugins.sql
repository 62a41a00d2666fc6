-- name: session_titles
SELECT id, title FROM sessions WHERE id = ANY(%(ids)s::uuid[]) AND title IS NOT NULL;

-- name: frozen_prompt
SELECT frozen_prompt::text AS frozen_prompt, frozen_at FROM sessions WHERE id = %(id)s AND frozen_prompt IS NOT NULL;
