-- name: turn_waiting
-- How long turns waited for the user: the time in which at least one of their requests was open, counted once where
-- several were. A request that outlived its turn counts up to the turn's end; one that is open has a span without end.
-- Copied turns have no requests: they say it themselves.
SELECT s.turn_id, s.open_requests,
       (SELECT lower(span) FROM unnest(s.spans) AS span WHERE upper_inf(span)) AS open_since,
       (SELECT COALESCE(sum(extract(epoch FROM upper(span) - lower(span))), 0)::float8
        FROM unnest(s.spans) AS span WHERE NOT upper_inf(span)) AS seconds
FROM (
    SELECT a.turn_id,
           range_agg(tstzrange(a.requested_at, CASE WHEN e.ended_at > a.requested_at THEN e.ended_at
                                                    WHEN e.ended_at IS NOT NULL THEN a.requested_at END)) AS spans,
           COALESCE(array_agg(a.id) FILTER (WHERE e.ended_at IS NULL), '{}') AS open_requests
    FROM approvals a JOIN turns t ON t.id = a.turn_id
    CROSS JOIN LATERAL (SELECT least(a.answered_at, t.completed_at) AS ended_at) AS e
    WHERE a.turn_id = ANY(%(ids)s)
    GROUP BY a.turn_id
) AS s
UNION ALL
SELECT id, '{}', NULL, waited_seconds FROM turns WHERE id = ANY(%(ids)s) AND waited_seconds IS NOT NULL;
