-- name: request_approval
INSERT INTO approvals (id, kind, session_id, root_session_id, turn_id, profile_id, tags, call_id, tool, args, cwd,
                       content_hash, title, detail, diff, risk, reason, choices, expires_at)
VALUES (%(id)s, %(kind)s, %(session_id)s, (SELECT root_session_id FROM sessions WHERE id = %(session_id)s), %(turn_id)s,
        %(profile_id)s, %(tags)s, %(call_id)s, %(tool)s, %(args)s, %(cwd)s, %(content_hash)s, %(title)s, %(detail)s,
        %(diff)s, %(risk)s, %(reason)s, %(choices)s, clock_timestamp() + make_interval(secs => %(timeout_seconds)s))
RETURNING requested_at, expires_at;

-- name: answer_approval
-- Compare and set: only the first answer finds the row pending. Only a question is answered, only a call allowed.
UPDATE approvals SET status = %(status)s, scope = %(scope)s, answer_reason = %(reason)s, answered_by = %(answered_by)s,
                     edited_args = %(edited_args)s, answer = %(answer)s, answered_at = clock_timestamp()
WHERE id = %(id)s AND status = 'pending'
  AND (%(status)s NOT IN ('allowed', 'answered') OR (%(status)s = 'answered') = (kind = 'question'))
RETURNING session_id, profile_id;

-- name: tell_answer
-- Whoever asked may be another process.
SELECT pg_notify('cos_approvals', %(id)s::text);

-- name: approval
SELECT id, status, scope, answer_reason, answered_by, edited_args, answer, content_hash FROM approvals WHERE id = %(id)s;

-- name: ended_approvals
SELECT status, scope, answer_reason, answered_by, edited_args, answer, answered_at FROM approvals
WHERE status <> 'pending' AND (starts_with(id::text, %(part)s) OR right(id::text, length(%(part)s)) = %(part)s)
LIMIT 2;

-- name: pending_approvals
SELECT a.id, a.kind, a.session_id, a.root_session_id, a.turn_id, a.profile_id, a.tags, a.call_id, a.tool, a.args, a.cwd,
       a.title, a.detail, a.diff, a.risk, a.reason, a.choices, a.content_hash, a.requested_at, a.expires_at,
       s.title AS session_title, s.cwd AS workspace, r.title AS root_title
FROM approvals a JOIN sessions s ON s.id = a.session_id JOIN sessions r ON r.id = a.root_session_id
WHERE a.status = 'pending' ORDER BY a.requested_at, a.id;

-- name: add_grant
INSERT INTO approval_grants (id, profile_id, root_session_id, approval_id, rule, granted_by)
VALUES (%(id)s, %(profile_id)s, %(root_session_id)s, %(approval_id)s, %(rule)s, %(granted_by)s);

-- name: session_grants
SELECT g.id, g.rule FROM approval_grants g
WHERE g.revoked_at IS NULL
  AND g.root_session_id = (SELECT root_session_id FROM sessions WHERE id = %(session_id)s)
ORDER BY g.created_at, g.id;

-- name: use_grant
UPDATE approval_grants SET uses = uses + 1, last_used_at = clock_timestamp() WHERE id = %(id)s;

-- name: grants
SELECT g.id, g.profile_id, g.root_session_id, g.rule, g.granted_by, g.created_at, g.last_used_at, g.uses,
       s.title AS session_title
FROM approval_grants g JOIN sessions s ON s.id = g.root_session_id
WHERE g.revoked_at IS NULL ORDER BY g.created_at DESC, g.id DESC;

-- name: revoke_grant
UPDATE approval_grants SET revoked_at = clock_timestamp() WHERE id = %(id)s AND revoked_at IS NULL RETURNING id;
