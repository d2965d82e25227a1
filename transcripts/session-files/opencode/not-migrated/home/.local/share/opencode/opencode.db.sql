CREATE TABLE session (id, parent_id, title, directory, version, revert, time_created, time_updated);
CREATE TABLE message (id, session_id, time_created, time_updated, data);
CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data);
