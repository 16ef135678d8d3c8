-- Layout 3. Functions that give one value each, so that a batch is one statement. What is spelled otherwise than the server spells
-- it is not changed here: AMBIT is raised, or NULL is given, and the client looks at the value.

-- Deletes a log; gives how many entries it had.
CREATE FUNCTION drop_log(p_space bytea, p_name bytea) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
  v_last bigint;
BEGIN
  DELETE FROM log WHERE space = p_space AND name = p_name RETURNING id, last INTO v_id, v_last;
  IF FOUND THEN
    DELETE FROM entry WHERE log_id = v_id;
  END IF;
  RETURN coalesce(v_last, 0);
END $$;

-- Releases a lease of this epoch, or removes what has expired in its place.
CREATE FUNCTION release(p_space bytea, p_name bytea, p_epoch bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
BEGIN
  DELETE FROM value WHERE space = p_space AND name = p_name AND (epoch = p_epoch OR expires_at <= batch_time())
    RETURNING id INTO v_id;
  IF FOUND THEN
    DELETE FROM item WHERE list_id = v_id;
  ELSIF EXISTS (SELECT FROM value WHERE space = p_space AND name = p_name) THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = 'another grant';
  END IF;
END $$;

-- Fails where the index row is not the one with this id.
CREATE FUNCTION check_row_id(p_space bytea, p_id text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM check_row(p_space, p_id,
    (SELECT max(t.last_at) FROM identity i JOIN touch t ON t.row_id = i.row_id WHERE i.space = p_space),
    (SELECT placement FROM identity WHERE space = p_space));
END $$;

-- Adds to a whole number that stays within `p_most`; gives it and its version. Gives NULL, and changes nothing, where the value is
-- anything else, also a number that is spelled like 1.0 or 1e3.
CREATE FUNCTION add_number(
  p_space bytea, p_name bytea, p_tenant text, p_path text, p_delta bigint, p_life bigint, p_most bigint) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
  v_done text[];
BEGIN
  INSERT INTO value AS v (space, name, tenant, path, body, length, version, expires_at)
    VALUES (p_space, p_name, p_tenant, p_path, p_delta::text, 1, nextval('counter'), end_of_life(p_life))
    ON CONFLICT (space, name) DO UPDATE SET body = (v.body::bigint + p_delta)::text, version = excluded.version
    WHERE CASE WHEN v.expires_at <= batch_time() THEN false WHEN v.body ~ '^(0|-?[1-9][0-9]{0,15})$'
    THEN abs(v.body::bigint + p_delta) <= p_most ELSE false END
    RETURNING ARRAY[v.body, v.version::text] INTO v_done;
  RETURN v_done;
END $$;

-- Adds items to a list, up to `p_most` in all; gives its length and version. Gives NULL, and changes nothing, where there is no
-- such list.
CREATE FUNCTION push_items(p_space bytea, p_name bytea, p_items text[], p_prints bigint[], p_most bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
  v_length bigint;
  v_version bigint := nextval('counter');
BEGIN
  UPDATE value SET version = v_version, length = length + cardinality(p_items)
    WHERE space = p_space AND name = p_name AND body IS NULL AND (expires_at IS NULL OR expires_at > batch_time())
    AND length + cardinality(p_items) <= p_most RETURNING id, length INTO v_id, v_length;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  INSERT INTO item (list_id, pos, body, fingerprint)
    SELECT v_id, v_length - cardinality(p_items) + n - 1, body, print
    FROM unnest(p_items, p_prints) WITH ORDINALITY AS w (body, print, n);
  RETURN ARRAY[v_length, v_version];
END $$;

-- Takes the last item of a list; gives it and the list's version. Gives NULL, and changes nothing, where there is none.
CREATE FUNCTION pop_item(p_space bytea, p_name bytea) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
  v_length bigint;
  v_version bigint := nextval('counter');
  v_item text;
BEGIN
  UPDATE value SET version = v_version, length = length - 1
    WHERE space = p_space AND name = p_name AND body IS NULL AND (expires_at IS NULL OR expires_at > batch_time())
    AND length > 0 RETURNING id, length INTO v_id, v_length;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  DELETE FROM item WHERE list_id = v_id AND pos = v_length RETURNING body INTO v_item;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'data_corrupted', MESSAGE = 'a list lacks its last item';
  END IF;
  RETURN ARRAY[v_item, v_version::text];
END $$;

-- Adds to the named numbers of a row of sums, `{"labels":…,"sums":{…}}`; gives its version. The pattern is of
-- all that follows the first `,"sums":`, so that one within the labels is refused.
CREATE FUNCTION tally(
  p_space bytea, p_name bytea, p_tenant text, p_path text, p_labels text, p_names text[], p_add bigint[], p_life bigint)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_found record;
  v_labels text := p_labels;
  v_sums text := '{}';
  v_at integer;
  v_end bigint := end_of_life(p_life);
  v_version bigint := nextval('counter');
BEGIN
  SELECT body, expires_at INTO v_found FROM value WHERE space = p_space AND name = p_name FOR UPDATE;
  IF FOUND AND (v_found.expires_at IS NULL OR v_found.expires_at > batch_time()) THEN
    v_at := coalesce(strpos(v_found.body, ',"sums":{'), 0);
    v_sums := substr(v_found.body, v_at + 8, greatest(length(v_found.body) - v_at - 8, 0));
    IF v_at = 0 OR NOT starts_with(v_found.body, '{"labels":') OR right(v_found.body, 1) <> '}' OR v_sums !~
      '^\{("([^"\\]|\\["\\bfnrt]|\\u00(0[1-9a-f]|1[0-9a-f]))*":(0|-?[1-9][0-9]{0,17})(,(?=")|(?=\}$)))*\}$' THEN
      RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = 'no sums';
    END IF;
    v_labels := substr(v_found.body, 11, v_at - 11);
    v_end := v_found.expires_at;
  END IF;
  SELECT '{' || string_agg(to_json(name)::text || ':' || total, ',' ORDER BY name COLLATE "C") || '}' INTO v_sums
    FROM (SELECT name, sum(number) AS total
      FROM (SELECT key AS name, value::numeric AS number FROM json_each_text(v_sums::json)
        UNION ALL SELECT * FROM unnest(p_names, p_add)) w GROUP BY name) sums
    HAVING bool_and(total BETWEEN -9223372036854775808 AND 9223372036854775807);
  IF v_sums IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'AMBIT', MESSAGE = 'no sums within range';
  END IF;
  PERFORM store_value(p_space, p_name, p_tenant, p_path, '{"labels":' || v_labels || ',"sums":' || v_sums || '}', '{}', '{}',
    v_version, v_end, NULL);
  RETURN v_version;
END $$;
