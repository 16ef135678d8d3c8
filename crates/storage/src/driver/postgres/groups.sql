-- Layout 2. Functions for batches of several callers that are committed together, and for leases.

-- Takes the locks of a transaction, which come sorted, and fixes its time. With `p_lock_timeout`, it waits no longer for any of them.
CREATE FUNCTION begin_batch(p_keys bigint[], p_exclusive boolean[], p_offset bigint, p_lock_timeout text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  -- An assignment costs less than a statement.
  v_done text;
BEGIN
  IF p_lock_timeout IS NOT NULL THEN
    v_done := set_config('lock_timeout', p_lock_timeout, true);
  END IF;
  FOR i IN 1 .. cardinality(p_keys) LOOP
    IF p_exclusive[i] THEN
      v_done := pg_advisory_xact_lock(p_keys[i])::text;
    ELSE
      v_done := pg_advisory_xact_lock_shared(p_keys[i])::text;
    END IF;
  END LOOP;
  v_done := set_config('ambit.now', (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + p_offset)::text, true);
END $$;

-- Appends entries to several logs, each named once; `p_logs` and `p_places` say of each entry to which log and where behind
-- its end. Ids that are there already are for `append`: nothing is appended then.
CREATE FUNCTION append_all(
  p_spaces bytea[], p_names bytea[], p_tenants text[], p_paths text[], p_counts bigint[], p_logs bigint[],
  p_places bigint[], p_ids text[], p_bodies text[], p_active bytea[], p_step bigint,
  OUT o_generations bigint[], OUT o_lasts bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := batch_time();
  v_ids bigint[];
  v_new bigint;
BEGIN
  WITH grown AS (
    UPDATE log SET last = log.last + w.count
      FROM unnest(p_spaces, p_names, p_counts) WITH ORDINALITY AS w (space, name, count, n)
      WHERE log.space = w.space AND log.name = w.name RETURNING w.n, log.id, log.generation, log.last)
    SELECT array_agg(id ORDER BY n), array_agg(generation ORDER BY n), array_agg(last ORDER BY n)
    INTO v_ids, o_generations, o_lasts FROM grown;
  IF cardinality(v_ids) IS DISTINCT FROM cardinality(p_names) THEN
    INSERT INTO log (space, name, tenant, path, generation, last)
      SELECT space, name, tenant, path, nextval('counter'), count
      FROM unnest(p_spaces, p_names, p_tenants, p_paths, p_counts) AS w (space, name, tenant, path, count)
      WHERE NOT EXISTS (SELECT FROM log l WHERE l.space = w.space AND l.name = w.name);
    SELECT array_agg(l.id ORDER BY n), array_agg(l.generation ORDER BY n), array_agg(l.last ORDER BY n)
      INTO v_ids, o_generations, o_lasts
      FROM unnest(p_spaces, p_names) WITH ORDINALITY AS w (space, name, n)
      JOIN log l ON l.space = w.space AND l.name = w.name;
  END IF;
  INSERT INTO entry (log_id, seq, at, entry_id, body)
    SELECT v_ids[log], o_lasts[log] - p_counts[log] + place, v_now, id, body
    FROM unnest(p_logs, p_places, p_ids, p_bodies) AS w (log, place, id, body)
    ON CONFLICT (entry_id, log_id) DO NOTHING;
  GET DIAGNOSTICS v_new = ROW_COUNT;
  IF v_new < cardinality(p_ids) THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = 'ids that are there already';
  END IF;
  IF cardinality(p_active) > 0 THEN
    UPDATE identity SET last_activity_at = v_now
      WHERE space = ANY (p_active) AND v_now - last_activity_at >= p_step;
  END IF;
END $$;

-- When a value written now ends that lives so long.
CREATE FUNCTION end_of_life(p_life bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_life IS NOT NULL THEN batch_time() + least(p_life, 9223372036854775807 - batch_time()) END
$$;

-- Sets values whole that are no lists, each named once. Gives their versions.
CREATE FUNCTION store_all(
  p_spaces bytea[], p_names bytea[], p_tenants text[], p_paths text[], p_bodies text[], p_lives bigint[],
  p_epochs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  v_versions bigint[];
  v_ids bigint[];
BEGIN
  SELECT array_agg(nextval('counter')) INTO v_versions FROM generate_series(1, cardinality(p_names));
  WITH stored AS (
    INSERT INTO value (space, name, tenant, path, body, length, version, expires_at, epoch)
      SELECT space, name, tenant, path, body, 1, v_versions[n], end_of_life(life), epoch
      FROM unnest(p_spaces, p_names, p_tenants, p_paths, p_bodies, p_lives, p_epochs) WITH ORDINALITY
        AS w (space, name, tenant, path, body, life, epoch, n)
      ON CONFLICT (space, name) DO UPDATE SET body = excluded.body, length = 1, version = excluded.version,
        expires_at = excluded.expires_at, epoch = excluded.epoch
      RETURNING id)
    SELECT array_agg(id) INTO v_ids FROM stored;
  DELETE FROM item WHERE list_id = ANY (v_ids);
  RETURN v_versions;
END $$;

-- Takes a lease that is free, or one's own again, and gives its epoch. `p_grant` is the grant as text, up to its epoch.
CREATE FUNCTION acquire(
  p_space bytea, p_name bytea, p_tenant text, p_path text, p_grant text, p_life bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_epoch bigint := nextval('counter');
  v_found record;
BEGIN
  SELECT body, epoch, expires_at INTO v_found FROM value WHERE space = p_space AND name = p_name FOR UPDATE;
  IF FOUND AND (v_found.expires_at IS NULL OR v_found.expires_at > batch_time())
    AND (v_found.epoch IS NULL OR NOT starts_with(v_found.body, p_grant)) THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = coalesce(v_found.body, '[]');
  END IF;
  PERFORM store_value(p_space, p_name, p_tenant, p_path, p_grant || v_epoch || '}', '{}', '{}', v_epoch,
    end_of_life(p_life), v_epoch);
  RETURN v_epoch;
END $$;
