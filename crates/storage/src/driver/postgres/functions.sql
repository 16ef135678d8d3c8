-- One function for each kind of check and write, so that a batch is a handful of calls sent at once. Each statement of
-- a function sees what was committed when it starts, hence after the locks were taken. A check that fails raises
-- SQLSTATE AMBIT with what it found as the message.

-- Takes the locks of a batch, which come sorted, and fixes its time.
CREATE FUNCTION take_locks(p_keys bigint[], p_exclusive boolean[], p_offset bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. cardinality(p_keys) LOOP
    IF p_exclusive[i] THEN
      PERFORM pg_advisory_xact_lock(p_keys[i]);
    ELSE
      PERFORM pg_advisory_xact_lock_shared(p_keys[i]);
    END IF;
  END LOOP;
  PERFORM set_config('ambit.now', (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + p_offset)::text, true);
END $$;

-- The time of the batch.
CREATE FUNCTION batch_time() RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT current_setting('ambit.now')::bigint $$;

-- Lifts the counter to numbers of another store. Alone with the store, because a counter can only be set, not raised;
-- by a stride, so that this is rare.
CREATE FUNCTION raise_counter(p_least bigint, p_store bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT last_value FROM counter) < p_least THEN
    PERFORM pg_advisory_xact_lock(p_store);
    PERFORM setval('counter', p_least + 65536) FROM counter WHERE last_value < p_least;
  END IF;
END $$;

CREATE FUNCTION check_head(p_space bytea, p_name bytea, p_generation bigint, p_last bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_generation bigint;
  v_last bigint;
BEGIN
  SELECT generation, last INTO v_generation, v_last FROM log WHERE space = p_space AND name = p_name;
  IF (v_generation, v_last) IS DISTINCT FROM (p_generation, p_last) THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = coalesce(v_generation || ' ' || v_last, 'nothing');
  END IF;
END $$;

CREATE FUNCTION check_version(p_space bytea, p_name bytea, p_version bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_version bigint;
BEGIN
  SELECT version INTO v_version FROM value
    WHERE space = p_space AND name = p_name AND (expires_at IS NULL OR expires_at > batch_time());
  IF v_version IS DISTINCT FROM p_version THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = coalesce(v_version::text, 'nothing');
  END IF;
END $$;

CREATE FUNCTION check_lease(p_space bytea, p_name bytea, p_epoch bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_epoch bigint;
BEGIN
  SELECT epoch INTO v_epoch FROM value
    WHERE space = p_space AND name = p_name AND (expires_at IS NULL OR expires_at > batch_time());
  IF v_epoch IS DISTINCT FROM p_epoch THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = 'another grant';
  END IF;
END $$;

CREATE FUNCTION check_row(p_space bytea, p_id text, p_touched_at bigint, p_placement text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_id text;
  v_touched_at bigint;
  v_placement text[];
BEGIN
  SELECT id, placement, (SELECT max(last_at) FROM touch t WHERE t.row_id = i.row_id)
    INTO v_id, v_placement, v_touched_at FROM identity i WHERE space = p_space;
  IF (v_id, v_touched_at, v_placement) IS DISTINCT FROM (p_id, p_touched_at, p_placement) THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT',
      MESSAGE = CASE WHEN v_id IS NULL THEN 'nothing' ELSE json_build_array(v_id, v_touched_at, v_placement)::text END;
  END IF;
END $$;

-- Appends entries with distinct ids. `o_seqs` is null where all of them were new.
CREATE FUNCTION append(
  p_space bytea, p_name bytea, p_tenant text, p_path text, p_ids text[], p_bodies text[], p_is_items boolean,
  p_step bigint, OUT o_generation bigint, OUT o_last bigint, OUT o_seqs bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  v_count bigint := cardinality(p_ids);
  v_now bigint := batch_time();
  v_log bigint;
  v_new bigint;
BEGIN
  UPDATE log SET last = last + v_count WHERE space = p_space AND name = p_name
    RETURNING id, generation, last INTO v_log, o_generation, o_last;
  IF NOT FOUND THEN
    INSERT INTO log (space, name, tenant, path, generation, last)
      VALUES (p_space, p_name, p_tenant, p_path, nextval('counter'), v_count)
      RETURNING id, generation, last INTO v_log, o_generation, o_last;
  END IF;
  INSERT INTO entry (log_id, seq, at, entry_id, body)
    SELECT v_log, o_last - v_count + n, v_now, id, body
    FROM unnest(p_ids, p_bodies) WITH ORDINALITY AS w (id, body, n)
    ON CONFLICT (entry_id, log_id) DO NOTHING;
  GET DIAGNOSTICS v_new = ROW_COUNT;
  IF v_new < v_count THEN
    -- Some ids are there already: those in front of them must close up.
    DELETE FROM entry WHERE log_id = v_log AND seq > o_last - v_count;
    WITH wanted AS (
      SELECT w.n, w.id, w.body, e.seq, row_number() OVER (PARTITION BY e.seq IS NULL ORDER BY w.n) AS place
      FROM unnest(p_ids, p_bodies) WITH ORDINALITY AS w (id, body, n)
      LEFT JOIN entry e ON e.log_id = v_log AND e.entry_id = w.id
    ), added AS (
      INSERT INTO entry (log_id, seq, at, entry_id, body)
        SELECT v_log, o_last - v_count + place, v_now, id, body FROM wanted WHERE seq IS NULL ORDER BY place
    )
    SELECT array_agg(coalesce(seq, o_last - v_count + place) ORDER BY n) INTO o_seqs FROM wanted;
    o_last := o_last - v_count + v_new;
    UPDATE log SET last = o_last WHERE id = v_log;
  END IF;
  IF p_is_items THEN
    UPDATE identity SET last_activity_at = v_now WHERE space = p_space AND v_now - last_activity_at >= p_step;
  END IF;
END $$;

-- Erases a space, but for the log `p_keep`, which stays as an empty one. Gives the names of its logs.
CREATE FUNCTION erase_space(p_space bytea, p_keep bytea, OUT o_erased bigint, OUT o_logs bytea[])
LANGUAGE plpgsql AS $$
DECLARE
  v_log record;
  v_ids bigint[];
BEGIN
  o_erased := 0;
  o_logs := '{}';
  FOR v_log IN SELECT id, name, last FROM log WHERE space = p_space LOOP
    DELETE FROM entry WHERE log_id = v_log.id;
    o_erased := o_erased + v_log.last;
    o_logs := o_logs || v_log.name;
  END LOOP;
  UPDATE log SET generation = nextval('counter'), last = 0 WHERE space = p_space AND name = p_keep;
  DELETE FROM log WHERE space = p_space AND name IS DISTINCT FROM p_keep;
  WITH gone AS (DELETE FROM value WHERE space = p_space RETURNING id)
    SELECT coalesce(array_agg(id), '{}') INTO v_ids FROM gone;
  DELETE FROM item WHERE list_id = ANY (v_ids);
  o_erased := o_erased + cardinality(v_ids);
END $$;

-- Erases values by name; counts those that were alive.
CREATE FUNCTION wipe(p_space bytea, p_names bytea[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_ids bigint[];
  v_live bigint;
BEGIN
  WITH gone AS (DELETE FROM value WHERE space = p_space AND name = ANY (p_names) RETURNING id, expires_at)
    SELECT coalesce(array_agg(id), '{}'), count(*) FILTER (WHERE expires_at IS NULL OR expires_at > batch_time())
    INTO v_ids, v_live FROM gone;
  DELETE FROM item WHERE list_id = ANY (v_ids);
  RETURN v_live;
END $$;

-- What an operation must see of a value: the last `p_last` items of a list, or those with one of the fingerprints.
-- `o_next` is the version that the value gets.
CREATE FUNCTION load_value(
  p_space bytea, p_name bytea, p_last bigint, p_alike bigint[], OUT o_now bigint, OUT o_next bigint, OUT o_id bigint,
  OUT o_body text, OUT o_length bigint, OUT o_version bigint, OUT o_expires_at bigint, OUT o_items text[])
LANGUAGE plpgsql AS $$
BEGIN
  o_now := batch_time();
  o_next := nextval('counter');
  SELECT id, body, length, version, expires_at INTO o_id, o_body, o_length, o_version, o_expires_at
    FROM value WHERE space = p_space AND name = p_name FOR UPDATE;
  IF o_id IS NULL OR o_body IS NOT NULL THEN
    RETURN;
  END IF;
  IF p_alike IS NOT NULL THEN
    -- Written so that only the index on the hash serves.
    SELECT array_agg(body) INTO o_items FROM item WHERE list_id + 0 = o_id AND hashint8extended(fingerprint, list_id)
      = ANY (ARRAY(SELECT hashint8extended(print, o_id) FROM unnest(p_alike) AS w (print)));
  ELSIF p_last > 0 THEN
    SELECT array_agg(body ORDER BY pos) INTO o_items FROM item WHERE list_id = o_id AND pos >= o_length - p_last;
  END IF;
END $$;

-- Sets a value whole; `p_body` is null for a list.
CREATE FUNCTION store_value(
  p_space bytea, p_name bytea, p_tenant text, p_path text, p_body text, p_items text[], p_prints bigint[],
  p_version bigint, p_expires_at bigint, p_epoch bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
  v_length bigint := CASE WHEN p_body IS NULL THEN cardinality(p_items) ELSE 1 END;
BEGIN
  INSERT INTO value (space, name, tenant, path, body, length, version, expires_at, epoch)
    VALUES (p_space, p_name, p_tenant, p_path, p_body, v_length, p_version, p_expires_at, p_epoch)
    ON CONFLICT (space, name) DO UPDATE
    SET body = p_body, length = v_length, version = p_version, expires_at = p_expires_at, epoch = p_epoch
    RETURNING id INTO v_id;
  DELETE FROM item WHERE list_id = v_id;
  IF p_body IS NULL THEN
    INSERT INTO item (list_id, pos, body, fingerprint)
      SELECT v_id, n - 1, body, print FROM unnest(p_items, p_prints) WITH ORDINALITY AS w (body, print, n);
  END IF;
END $$;

-- Cuts a list to `p_keep` items, then puts items.
CREATE FUNCTION change_list(
  p_id bigint, p_keep bigint, p_places bigint[], p_items text[], p_prints bigint[], p_version bigint,
  p_expires_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM item WHERE list_id = p_id AND pos >= p_keep;
  INSERT INTO item (list_id, pos, body, fingerprint)
    SELECT p_id, place, body, print FROM unnest(p_places, p_items, p_prints) AS w (place, body, print)
    ON CONFLICT (list_id, pos) DO UPDATE SET body = excluded.body, fingerprint = excluded.fingerprint;
  UPDATE value SET version = p_version, expires_at = p_expires_at,
    length = greatest(p_keep, (SELECT max(place) + 1 FROM unnest(p_places) AS w (place)))
    WHERE id = p_id;
END $$;

-- Deletes a value.
CREATE FUNCTION drop_value(p_space bytea, p_name bytea) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
BEGIN
  DELETE FROM value WHERE space = p_space AND name = p_name RETURNING id INTO v_id;
  DELETE FROM item WHERE list_id = v_id;
END $$;

-- Inserts an index row, or adds the touch to the one that is there. Another placement than the one on record is refused.
CREATE FUNCTION track(
  p_space bytea, p_id text, p_tenant text, p_storage_key text, p_key text, p_fields text[], p_placement text[],
  p_created_by text, p_team text, p_labels text[], p_agent text, p_base text, p_step bigint,
  OUT o_id text, OUT o_is_new boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := batch_time();
  v_row bigint;
  v_last bigint;
  v_placement text[];
BEGIN
  SELECT row_id, id, placement INTO v_row, o_id, v_placement FROM identity WHERE space = p_space;
  o_is_new := NOT FOUND;
  IF NOT o_is_new AND v_placement <> p_placement THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = array_to_json(v_placement);
  END IF;
  IF o_is_new THEN
    INSERT INTO identity (ordinal, id, space, tenant, storage_key, key, agent_name, chat_name, user_id, group_name,
        scope, created_at, last_activity_at, placement, created_by, team, labels)
      VALUES (nextval('counter'), p_id, p_space, p_tenant, p_storage_key, p_key, p_fields[1], p_fields[2], p_fields[3],
        p_fields[4], p_fields[5], v_now, v_now, p_placement, p_created_by, p_team, p_labels)
      RETURNING row_id, id INTO v_row, o_id;
  END IF;
  SELECT last_at INTO v_last FROM touch WHERE row_id = v_row AND agent = p_agent;
  IF NOT FOUND THEN
    INSERT INTO touch (row_id, agent, base, place, first_at, last_at)
      SELECT v_row, p_agent, p_base, coalesce(max(place), 0) + 1, v_now, v_now FROM touch WHERE row_id = v_row;
  ELSIF v_now - v_last >= p_step THEN
    UPDATE touch SET last_at = v_now WHERE row_id = v_row AND agent = p_agent;
  END IF;
END $$;

-- Makes an index row equal to another store's, but for an ordinal that another row has here.
CREATE FUNCTION mirror_row(
  p_space bytea, p_id text, p_tenant text, p_storage_key text, p_key text, p_fields text[], p_placement text[],
  p_created_by text, p_team text, p_labels text[], p_ordinal bigint, p_created_at bigint, p_last_activity_at bigint,
  p_agents text[], p_bases text[], p_firsts bigint[], p_lasts bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_row bigint;
  v_ordinal bigint := p_ordinal;
BEGIN
  IF EXISTS (SELECT FROM identity WHERE ordinal = p_ordinal AND space <> p_space) THEN
    v_ordinal := coalesce((SELECT ordinal FROM identity WHERE space = p_space), nextval('counter'));
  END IF;
  DELETE FROM identity WHERE space = p_space OR id = p_id;
  INSERT INTO identity (ordinal, id, space, tenant, storage_key, key, agent_name, chat_name, user_id, group_name,
      scope, created_at, last_activity_at, placement, created_by, team, labels)
    VALUES (v_ordinal, p_id, p_space, p_tenant, p_storage_key, p_key, p_fields[1], p_fields[2], p_fields[3],
      p_fields[4], p_fields[5], p_created_at, p_last_activity_at, p_placement, p_created_by, p_team, p_labels)
    RETURNING row_id INTO v_row;
  INSERT INTO touch (row_id, agent, base, place, first_at, last_at)
    SELECT v_row, agent, base, n, first_at, last_at
    FROM unnest(p_agents, p_bases, p_firsts, p_lasts) WITH ORDINALITY AS w (agent, base, first_at, last_at, n);
END $$;

-- Makes a log go on with another store's entries, which come ascending.
CREATE FUNCTION mirror_log(
  p_space bytea, p_name bytea, p_tenant text, p_path text, p_generation bigint, p_seqs bigint[], p_ids text[],
  p_ats bigint[], p_bodies text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_log log;
  v_entry record;
BEGIN
  SELECT * INTO v_log FROM log WHERE space = p_space AND name = p_name;
  IF NOT FOUND THEN
    INSERT INTO log (space, name, tenant, path, generation, last)
      VALUES (p_space, p_name, p_tenant, p_path, p_generation, 0) RETURNING * INTO v_log;
  ELSIF v_log.generation <> p_generation THEN
    DELETE FROM entry WHERE log_id = v_log.id;
    v_log.last := 0;
  END IF;
  FOR v_entry IN SELECT * FROM unnest(p_seqs, p_ids, p_ats, p_bodies) WITH ORDINALITY AS w (seq, id, at, body, n)
    ORDER BY n
  LOOP
    IF v_entry.seq > v_log.last + 1 THEN
      RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = (v_log.last + 1) || ' ' || v_entry.seq;
    ELSIF v_entry.seq = v_log.last + 1 THEN
      INSERT INTO entry (log_id, seq, at, entry_id, body)
        VALUES (v_log.id, v_entry.seq, v_entry.at, v_entry.id, v_entry.body);
      v_log.last := v_entry.seq;
    END IF;
  END LOOP;
  UPDATE log SET generation = p_generation, last = v_log.last WHERE id = v_log.id;
END $$;
