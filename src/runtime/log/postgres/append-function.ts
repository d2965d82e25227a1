/**
 * The append inside of Postgres: one statement per group commit, one trip over the network. Each entry is fenced by its
 * session's owner and last event; one that is refused takes no other with it. An entry whose answer was lost is
 * recognised by its id and not stored twice.
 */

/** Entries are JSON; the bytes they mention are slices of `bodies`. Answers come in the order of the entries. */
export const APPEND = `
CREATE OR REPLACE FUNCTION franca.append(entries jsonb, bodies bytea, code_version text, writer_host text, writer_epoch bigint)
RETURNS TABLE (outcome text, place bigint) LANGUAGE plpgsql AS $$
DECLARE
  given jsonb;
  part jsonb;
  known record;
  session_key bigint;
  keys bigint[] := '{}';
  outcomes text[] := '{}';
  places bigint[] := '{}';
  added integer := 0;
  next_place bigint;
BEGIN
  FOR given IN SELECT * FROM jsonb_array_elements(entries) LOOP
    UPDATE franca.sessions AS session SET
      summary = given->>'summary', summary_checksum = (given->>'summary_checksum')::bigint, status = given->>'status', search = given->>'search',
      last = (given->>'last')::bigint, entry = given->>'entry'
    WHERE session.id = given->>'session' AND session.last = (given->>'before')::bigint
      AND session.owner_host = writer_host AND session.owner_epoch = writer_epoch
      AND session.entry IS DISTINCT FROM (given->>'entry')
    RETURNING session.key INTO session_key;
    IF NOT FOUND THEN
      SELECT session.key, session.entry, session.last INTO known FROM franca.sessions AS session
      WHERE session.id = given->>'session';
      keys := keys || 0::bigint;
      IF NOT FOUND THEN
        outcomes := outcomes || 'missing'::text;
        places := places || 0::bigint;
      ELSIF known.entry = (given->>'entry') THEN
        outcomes := outcomes || 'stored'::text;
        places := places || coalesce((SELECT one.position FROM franca.groups AS one
          WHERE one.session = known.key AND one.last = known.last), 0);
      ELSE
        outcomes := outcomes || 'refused'::text;
        places := places || 0::bigint;
      END IF;
      CONTINUE;
    END IF;
    keys := keys || session_key;
    outcomes := outcomes || 'stored'::text;
    places := places || 0::bigint;
    part := given->'native';
    IF part IS NOT NULL THEN
      INSERT INTO franca.native (session, first, last, body, checksum)
      VALUES (session_key, (part->>'first')::bigint, (part->>'last')::bigint,
        substr(bodies, (part->>'at')::integer, (part->>'length')::integer), (part->>'checksum')::bigint);
    END IF;
    IF given ? 'prompts' THEN
      UPDATE franca.prompts AS prompt SET status = change.status
      FROM jsonb_to_recordset(given->'prompts') AS change(id text, status text)
      WHERE prompt.session = session_key AND prompt.id = change.id;
    END IF;
    IF given ? 'items' THEN
      INSERT INTO franca.items (session, number, sequence)
      SELECT session_key, item.number, item.sequence
      FROM jsonb_to_recordset(given->'items') AS item(number bigint, sequence bigint)
      ON CONFLICT (session, number) DO UPDATE SET sequence = excluded.sequence;
    END IF;
    part := given->'checkpoint';
    IF part IS NOT NULL THEN
      INSERT INTO franca.checkpoints (session, version, sequence, state, checksum)
      VALUES (session_key, code_version, (part->>'sequence')::bigint,
        convert_from(substr(bodies, (part->>'at')::integer, (part->>'length')::integer), 'UTF8'),
        (part->>'checksum')::bigint)
      ON CONFLICT (session) DO UPDATE SET version = excluded.version, sequence = excluded.sequence,
        state = excluded.state, checksum = excluded.checksum;
    END IF;
    IF given ? 'events' THEN added := added + 1; END IF;
  END LOOP;
  IF added > 0 THEN
    UPDATE franca.positions SET position = position + added RETURNING position - added INTO next_place;
    FOR index IN 1 .. array_length(keys, 1) LOOP
      part := entries->(index - 1)->'events';
      CONTINUE WHEN keys[index] = 0 OR part IS NULL;
      next_place := next_place + 1;
      places[index] := next_place;
      INSERT INTO franca.groups (position, session, first, last, body, checksum)
      VALUES (next_place, keys[index], (part->>'first')::bigint, (part->>'last')::bigint,
        substr(bodies, (part->>'at')::integer, (part->>'length')::integer), (part->>'checksum')::bigint);
    END LOOP;
    -- Nobody else listens where there is one host only, and a notification costs every commit.
    IF (SELECT count(*) FROM franca.hosts WHERE lease_until > now()) > 1 THEN
      PERFORM pg_notify('franca', writer_host);
    END IF;
  END IF;
  RETURN QUERY SELECT * FROM unnest(outcomes, places);
END $$;
`;
