CREATE TABLE threads (id, rollout_path, cwd, title, name, source, updated_at_ms);
INSERT INTO threads VALUES ('01a1e309-fc26-7f42-93db-0f498fc58823', '/home/user/.codex/sessions/2026/11/16/rollout-2026-11-16T06-27-25-01a1e309-fc26-7f42-93db-0f498fc58823_01a1e309-fcea-7fe3-8c49-e90a551b1455.jsonl', '/workspace', 'Prompt one.', NULL, 'vscode', 1794810445133);
