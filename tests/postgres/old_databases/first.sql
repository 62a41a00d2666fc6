-- A database of the first version of the core's schema: what the demo profile wrote, dumped with --inserts.
CREATE TABLE public.approvals (
    id uuid NOT NULL,
    kind text DEFAULT 'tool_call'::text NOT NULL,
    session_id uuid NOT NULL,
    root_session_id uuid NOT NULL,
    turn_id uuid NOT NULL,
    profile_id text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    call_id text NOT NULL,
    tool text NOT NULL,
    args json NOT NULL,
    cwd text,
    content_hash text NOT NULL,
    title text NOT NULL,
    detail text NOT NULL,
    diff text,
    risk text NOT NULL,
    reason text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    scope text,
    answer_reason text,
    answered_by text,
    requested_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    answered_at timestamp with time zone,
    CONSTRAINT approvals_check CHECK (((status = 'pending'::text) = (answered_at IS NULL))),
    CONSTRAINT approvals_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'allowed'::text, 'denied'::text, 'expired'::text, 'cancelled'::text])))
);
CREATE TABLE public.blobs (
    hash text NOT NULL,
    profile_id text NOT NULL,
    media_type text NOT NULL,
    data bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.messages (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    turn_id uuid NOT NULL,
    profile_id text NOT NULL,
    ordinal integer NOT NULL,
    role text NOT NULL,
    call_id text,
    active boolean DEFAULT true NOT NULL,
    body json NOT NULL,
    search_text text DEFAULT ''::text NOT NULL,
    search tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, "left"(search_text, 100000))) STORED,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT messages_check CHECK (((role = 'tool_result'::text) = (call_id IS NOT NULL))),
    CONSTRAINT messages_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'tool_result'::text])))
);
CREATE TABLE public.profiles (
    id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.queued_messages (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    profile_id text NOT NULL,
    body json NOT NULL,
    source text NOT NULL,
    client_message_id text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
CREATE TABLE public.sessions (
    id uuid NOT NULL,
    profile_id text NOT NULL,
    source text NOT NULL,
    title text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    parent_session_id uuid,
    root_session_id uuid NOT NULL,
    cwd text,
    options json DEFAULT '{}'::json NOT NULL,
    frozen_prompt json,
    frozen_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_activity_at timestamp with time zone DEFAULT now() NOT NULL,
    archived_at timestamp with time zone,
    queue_paused boolean DEFAULT false NOT NULL
);
CREATE TABLE public.tool_calls (
    session_id uuid NOT NULL,
    call_id text NOT NULL,
    turn_id uuid NOT NULL,
    profile_id text NOT NULL,
    message_id uuid,
    "position" integer DEFAULT 0 NOT NULL,
    name text NOT NULL,
    args json NOT NULL,
    status text DEFAULT 'proposed'::text NOT NULL,
    result text,
    is_error boolean DEFAULT false NOT NULL,
    risk text,
    duration_ms integer,
    approval json,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT tool_calls_status_check CHECK ((status = ANY (ARRAY['proposed'::text, 'waiting'::text, 'running'::text, 'ok'::text, 'error'::text, 'denied'::text, 'expired'::text, 'cancelled'::text, 'timed_out'::text, 'unknown'::text])))
);
CREATE TABLE public.turns (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    profile_id text NOT NULL,
    parent_turn_id uuid,
    ordinal integer NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    depth integer DEFAULT 0 NOT NULL,
    status text DEFAULT 'running'::text NOT NULL,
    owner_boot_id uuid NOT NULL,
    client_message_id text,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    completed_at timestamp with time zone,
    last_activity_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    stop_reason text,
    error text,
    usage json,
    CONSTRAINT turns_check CHECK (((status = 'running'::text) = (completed_at IS NULL))),
    CONSTRAINT turns_check1 CHECK ((completed_at >= started_at)),
    CONSTRAINT turns_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'cancelled'::text, 'failed'::text, 'interrupted'::text])))
);
INSERT INTO public.messages VALUES ('01a22e2b-dcab-73f4-b9e1-cfa46683285f', '01a22e2b-dca7-756d-b703-18e207887e14', '01a22e2b-dcb1-7050-b4f8-b7b9a736d4d1', 'demo', 1, 'user', NULL, true, '{"role": "user", "text": "Show me what you can do"}', 'Show me what you can do', DEFAULT, '2026-11-30 20:35:56.211452+00');
INSERT INTO public.messages VALUES ('01a22e2b-dcb5-70ca-8f1c-fe7b0f16dbbb', '01a22e2b-dca7-756d-b703-18e207887e14', '01a22e2b-dcb1-7050-b4f8-b7b9a736d4d1', 'demo', 2, 'assistant', NULL, true, '{"role": "assistant", "text": "## Welcome to cos\n\nI am `mock-1`, a **scripted demo**: no model is asked, nothing leaves this machine, and nothing costs money. What you see around me is real, though:\n\n- this text arrives in pieces, as a model''s would\n- every message is a row in *your* database\n- a tool call waits until you allow it\n\nSay **run a command** to see a tool call that needs your approval, or **think** to see thinking.\n"}', '## Welcome to cos
I am `mock-1`, a **scripted demo**: no model is asked, nothing leaves this machine, and nothing costs money. What you see around me is real, though:
- this text arrives in pieces, as a model''s would
- every message is a row in *your* database
- a tool call waits until you allow it
Say **run a command** to see a tool call that needs your approval, or **think** to see thinking.
', DEFAULT, '2026-11-30 20:35:57.768991+00');
INSERT INTO public.messages VALUES ('01a22e2b-e51d-7461-a228-292c59740532', '01a22e2b-e518-7657-965e-99ecade719e4', '01a22e2b-e525-7214-a697-fa1fd23a5ab2', 'demo', 1, 'user', NULL, true, '{"role": "user", "text": "run a command"}', 'run a command', DEFAULT, '2026-11-30 20:35:58.376127+00');
INSERT INTO public.messages VALUES ('01a22e2b-e52b-77ac-8ee1-e6c629bbece7', '01a22e2b-e518-7657-965e-99ecade719e4', '01a22e2b-e525-7214-a697-fa1fd23a5ab2', 'demo', 2, 'assistant', NULL, true, '{"role": "assistant", "text": "I propose a harmless command. cos asks you first, unless your profile already allows it.\n", "tool_calls": [{"id": "mock_2cd3c088c6fe4dbf8ec960cf6c2146a8", "name": "terminal", "args": {"command": "echo ''Hello from the demo''"}}]}', 'I propose a harmless command. cos asks you first, unless your profile already allows it.
', DEFAULT, '2026-11-30 20:35:59.1771+00');
INSERT INTO public.messages VALUES ('01a22e2b-e873-7400-a586-e7a83b42e2d5', '01a22e2b-e518-7657-965e-99ecade719e4', '01a22e2b-e525-7214-a697-fa1fd23a5ab2', 'demo', 3, 'tool_result', 'mock_2cd3c088c6fe4dbf8ec960cf6c2146a8', true, '{"role": "tool_result", "call_id": "mock_2cd3c088c6fe4dbf8ec960cf6c2146a8", "content": "Not run: nobody can be asked for approval here (mode deny of profile demo); it runs a program with your rights", "is_error": true}', 'Not run: nobody can be asked for approval here (mode deny of profile demo); it runs a program with your rights', DEFAULT, '2026-11-30 20:35:59.220693+00');
INSERT INTO public.messages VALUES ('01a22e2b-e876-7076-8e6f-30c695332f07', '01a22e2b-e518-7657-965e-99ecade719e4', '01a22e2b-e525-7214-a697-fa1fd23a5ab2', 'demo', 4, 'assistant', NULL, true, '{"role": "assistant", "text": "The command brought no result. cos told me:\n\n> Not run: nobody can be asked for approval here (mode deny of profile demo); it runs a program with your rights\n\nI have not tried it again, and I do not claim that it ran.\n"}', 'The command brought no result. cos told me:
> Not run: nobody can be asked for approval here (mode deny of profile demo); it runs a program with your rights
I have not tried it again, and I do not claim that it ran.
', DEFAULT, '2026-11-30 20:36:00.12419+00');
INSERT INTO public.messages VALUES ('01a22e2b-ee23-7412-959a-c1105b8850bb', '01a22e2b-e518-7657-965e-99ecade719e4', '01a22e2b-ee28-713e-ac04-aeb68649ac8d', 'demo', 5, 'user', NULL, true, '{"role": "user", "text": "think"}', 'think', DEFAULT, '2026-11-30 20:36:00.682752+00');
INSERT INTO public.messages VALUES ('01a22e2b-ee2d-73b3-a9f2-6be7d070d18b', '01a22e2b-e518-7657-965e-99ecade719e4', '01a22e2b-ee28-713e-ac04-aeb68649ac8d', 'demo', 6, 'assistant', NULL, true, '{"role": "assistant", "text": "You said: *think*\n\nI am a scripted demo and cannot answer that; a real model would. To use one, choose a profile whose provider is `anthropic`. Here, say **run a command** to see a tool call and its approval, or **think** to see thinking.\n"}', 'You said: *think*
I am a scripted demo and cannot answer that; a real model would. To use one, choose a profile whose provider is `anthropic`. Here, say **run a command** to see a tool call and its approval, or **think** to see thinking.
', DEFAULT, '2026-11-30 20:36:02.070534+00');
INSERT INTO public.profiles VALUES ('demo', '2026-11-30 20:35:56.13682+00');
INSERT INTO public.profiles VALUES ('home', '2026-11-30 20:35:56.13682+00');
INSERT INTO public.profiles VALUES ('work', '2026-11-30 20:35:56.13682+00');
INSERT INTO public.sessions VALUES ('01a22e2b-dca7-756d-b703-18e207887e14', 'demo', 'cli', 'Show me what you can do', '{}', NULL, '01a22e2b-dca7-756d-b703-18e207887e14', '/home/someone/cos/workspaces/demo', '{}', '{"system": "You are the demo agent of cos. You show what a turn looks like: text that streams, a tool call, an approval, and what it cost. No model answers here and nothing is sent over a network: the mock provider plays a script, and you say so when you are asked.\n\nYou work in a workspace, one folder, with `read_file`, `search_files`, `write_file`, `patch` and `terminal`. You say what you are about to do before you do it, and afterwards you report only what really happened.\n\nYou work in the folder /home/someone/cos/workspaces/demo. This session began on 2026-11-30.", "model": "mock-1", "max_output_tokens": null, "tools": [{"name": "patch", "description": "Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give `replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with `success` and the `diff`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."}, "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."}, "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."}, "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."}}, "required": ["path", "old_string", "new_string"], "additionalProperties": false}}, {"name": "read_file", "description": "Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines are cut. A relative path starts at the working folder that `terminal` shows as `cwd`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."}, "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 500 when not given."}}, "required": ["path"], "additionalProperties": false}}, {"name": "search_files", "description": "Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for names such as ''*.py'' or ''src/**/*.md''; the newest files come first. Hidden and binary files, files in .gitignore and files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`.", "schema": {"type": "object", "properties": {"pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."}, "target": {"type": "string", "enum": ["content", "files"], "description": "What to search; content by default."}, "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."}, "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as ''*.py''."}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many results to return; 50 when not given."}, "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."}, "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "Matching lines (default), only the files'' paths, or how many lines match in each file."}, "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each matching line; 0 when not given."}, "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."}}, "required": ["pattern"], "additionalProperties": false}}, {"name": "terminal", "description": "Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, `error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid.", "schema": {"type": "object", "properties": {"command": {"type": "string", "description": "The command, one or several lines."}, "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds after which the command is stopped; 180 when not given."}, "workdir": {"type": "string", "description": "Folder inside the workspace for this call only, relative to the working folder."}}, "required": ["command"], "additionalProperties": false}}, {"name": "write_file", "description": "Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. Returns JSON with `bytes_written` and `status` (created or replaced).", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "content": {"type": "string", "description": "The whole new content."}}, "required": ["path", "content"], "additionalProperties": false}}]}', '2026-11-30 20:35:56.207737+00', '2026-11-30 20:35:56.199986+00', '2026-11-30 20:35:57.769594+00', NULL, false);
INSERT INTO public.sessions VALUES ('01a22e2b-e518-7657-965e-99ecade719e4', 'demo', 'cli', 'run a command', '{client:acme}', NULL, '01a22e2b-e518-7657-965e-99ecade719e4', '/home/someone/cos/workspaces/demo', '{}', '{"system": "You are the demo agent of cos. You show what a turn looks like: text that streams, a tool call, an approval, and what it cost. No model answers here and nothing is sent over a network: the mock provider plays a script, and you say so when you are asked.\n\nYou work in a workspace, one folder, with `read_file`, `search_files`, `write_file`, `patch` and `terminal`. You say what you are about to do before you do it, and afterwards you report only what really happened.\n\nYou work in the folder /home/someone/cos/workspaces/demo. This session began on 2026-11-30.", "model": "mock-1", "max_output_tokens": null, "tools": [{"name": "patch", "description": "Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give `replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with `success` and the `diff`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."}, "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."}, "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."}, "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."}}, "required": ["path", "old_string", "new_string"], "additionalProperties": false}}, {"name": "read_file", "description": "Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines are cut. A relative path starts at the working folder that `terminal` shows as `cwd`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."}, "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 500 when not given."}}, "required": ["path"], "additionalProperties": false}}, {"name": "search_files", "description": "Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for names such as ''*.py'' or ''src/**/*.md''; the newest files come first. Hidden and binary files, files in .gitignore and files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`.", "schema": {"type": "object", "properties": {"pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."}, "target": {"type": "string", "enum": ["content", "files"], "description": "What to search; content by default."}, "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."}, "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as ''*.py''."}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many results to return; 50 when not given."}, "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."}, "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "Matching lines (default), only the files'' paths, or how many lines match in each file."}, "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each matching line; 0 when not given."}, "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."}}, "required": ["pattern"], "additionalProperties": false}}, {"name": "terminal", "description": "Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, `error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid.", "schema": {"type": "object", "properties": {"command": {"type": "string", "description": "The command, one or several lines."}, "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds after which the command is stopped; 180 when not given."}, "workdir": {"type": "string", "description": "Folder inside the workspace for this call only, relative to the working folder."}}, "required": ["command"], "additionalProperties": false}}, {"name": "write_file", "description": "Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. Returns JSON with `bytes_written` and `status` (created or replaced).", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "content": {"type": "string", "description": "The whole new content."}}, "required": ["path", "content"], "additionalProperties": false}}]}', '2026-11-30 20:35:58.371414+00', '2026-11-30 20:35:58.361067+00', '2026-11-30 20:36:02.071289+00', NULL, false);
INSERT INTO public.tool_calls VALUES ('01a22e2b-e518-7657-965e-99ecade719e4', 'mock_2cd3c088c6fe4dbf8ec960cf6c2146a8', '01a22e2b-e525-7214-a697-fa1fd23a5ab2', 'demo', '01a22e2b-e52b-77ac-8ee1-e6c629bbece7', 0, 'terminal', '{"command": "echo ''Hello from the demo''"}', 'denied', 'Not run: nobody can be asked for approval here (mode deny of profile demo); it runs a program with your rights', true, 'execute', NULL, NULL, '2026-11-30 20:35:59.177778+00', '2026-11-30 20:35:59.217788+00');
INSERT INTO public.turns VALUES ('01a22e2b-dcb1-7050-b4f8-b7b9a736d4d1', '01a22e2b-dca7-756d-b703-18e207887e14', 'demo', NULL, 1, '{area:demo}', 0, 'completed', '01a22e2b-dc54-73ab-adb9-898c067221cd', NULL, '2026-11-30 20:35:56.210495+00', '2026-11-30 20:35:57.773699+00', '2026-11-30 20:35:57.768256+00', 'end_turn', NULL, '{"input_tokens": 6, "output_tokens": 76, "cache_read_tokens": 96, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}');
INSERT INTO public.turns VALUES ('01a22e2b-e525-7214-a697-fa1fd23a5ab2', '01a22e2b-e518-7657-965e-99ecade719e4', 'demo', NULL, 1, '{area:demo,client:acme}', 0, 'completed', '01a22e2b-e4cd-73a4-858f-7d309115d1d5', NULL, '2026-11-30 20:35:58.375288+00', '2026-11-30 20:36:00.12908+00', '2026-11-30 20:36:00.123697+00', 'end_turn', NULL, '{"input_tokens": 24, "output_tokens": 83, "cache_read_tokens": 210, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}');
INSERT INTO public.turns VALUES ('01a22e2b-ee28-713e-ac04-aeb68649ac8d', '01a22e2b-e518-7657-965e-99ecade719e4', 'demo', NULL, 2, '{area:demo,client:acme}', 0, 'completed', '01a22e2b-edcf-7706-979d-af097197ddd1', NULL, '2026-11-30 20:36:00.681772+00', '2026-11-30 20:36:02.075611+00', '2026-11-30 20:36:02.069663+00', 'end_turn', NULL, '{"input_tokens": 1, "output_tokens": 67, "cache_read_tokens": 179, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}');
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_session_id_ordinal_key UNIQUE (session_id, ordinal);
ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.queued_messages
    ADD CONSTRAINT queued_messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_pkey PRIMARY KEY (session_id, call_id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_session_id_ordinal_key UNIQUE (session_id, ordinal);
CREATE INDEX approvals_by_turn ON public.approvals USING btree (turn_id);
CREATE INDEX approvals_pending ON public.approvals USING btree (requested_at) WHERE (status = 'pending'::text);
CREATE INDEX messages_by_turn ON public.messages USING btree (turn_id);
CREATE UNIQUE INDEX messages_one_result ON public.messages USING btree (session_id, call_id) WHERE (call_id IS NOT NULL);
CREATE INDEX messages_search ON public.messages USING gin (search);
CREATE UNIQUE INDEX queued_messages_client ON public.queued_messages USING btree (session_id, client_message_id) WHERE (client_message_id IS NOT NULL);
CREATE INDEX queued_messages_in_order ON public.queued_messages USING btree (session_id, id);
CREATE INDEX sessions_by_activity ON public.sessions USING btree (last_activity_at DESC, id DESC);
CREATE INDEX sessions_by_parent ON public.sessions USING btree (parent_session_id) WHERE (parent_session_id IS NOT NULL);
CREATE INDEX tool_calls_by_turn ON public.tool_calls USING btree (turn_id, "position");
CREATE UNIQUE INDEX turns_client_message ON public.turns USING btree (session_id, client_message_id) WHERE (client_message_id IS NOT NULL);
CREATE UNIQUE INDEX turns_one_active ON public.turns USING btree (session_id) WHERE (completed_at IS NULL);
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turns(id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turns(id);
ALTER TABLE ONLY public.queued_messages
    ADD CONSTRAINT queued_messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_parent_session_id_fkey FOREIGN KEY (parent_session_id) REFERENCES public.sessions(id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_profile_id_fkey FOREIGN KEY (profile_id) REFERENCES public.profiles(id);
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_message_id_fkey FOREIGN KEY (message_id) REFERENCES public.messages(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turns(id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
