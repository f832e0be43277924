-- The tables of a ledger. Nobody writes to them but through append(), which compares each entry with the one before it.
CREATE SCHEMA hardzero_ledger;

CREATE TABLE hardzero_ledger.heads (
    dataset text PRIMARY KEY,
    number bigint NOT NULL,
    hash text NOT NULL
);

CREATE TABLE hardzero_ledger.entries (
    dataset text NOT NULL,
    number bigint NOT NULL,
    body text NOT NULL,
    hash text NOT NULL,
    closes bigint,
    PRIMARY KEY (dataset, number),
    UNIQUE (dataset, closes)
);

-- Which roles may see a data set and spend its budget; owners may do so with all of them.
CREATE TABLE hardzero_ledger.permissions (
    dataset text NOT NULL,
    role text NOT NULL,
    PRIMARY KEY (dataset, role)
);

CREATE FUNCTION hardzero_ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE insufficient_privilege USING MESSAGE = 'entries are never changed or deleted';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON hardzero_ledger.entries
    FOR EACH STATEMENT EXECUTE FUNCTION hardzero_ledger.refuse_change();

-- Owners are those who made these tables, and members of the role hardzero_owner where there is one.
CREATE FUNCTION hardzero_ledger.is_owner() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
    SELECT EXISTS (
        SELECT FROM pg_roles
        WHERE pg_has_role(session_user, oid, 'member') AND (rolname = 'hardzero_owner' OR oid = (
            SELECT nspowner FROM pg_namespace WHERE nspname = 'hardzero_ledger')));
$$;

CREATE FUNCTION hardzero_ledger.is_permitted(asked text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
    SELECT hardzero_ledger.is_owner() OR EXISTS (
        SELECT FROM hardzero_ledger.permissions p JOIN pg_roles r ON r.rolname = p.role
        WHERE p.dataset = asked AND pg_has_role(session_user, r.oid, 'member'));
$$;

-- Whether the sums of a state keep within its limit. Null stands for an infinite sum.
CREATE FUNCTION hardzero_ledger.is_allowed(state jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog AS $$
    SELECT coalesce((state->>'limit')::float8 >= CASE
               WHEN state->>'order' IS NULL THEN (state->'total'->>'square')::float8
               ELSE (state->'total'->>'shift')::float8
                    + (state->>'order')::float8 * (state->'total'->>'rho')::float8 END, false)
        OR coalesce((state->'total'->>'epsilon')::float8 <= (state->'cap'->>'epsilon')::float8, false)
        OR coalesce((state->'alone'->>'epsilon')::float8 <= (state->'cap'->>'epsilon')::float8
                    AND (state->'alone'->>'delta')::float8 <= (state->'cap'->>'delta')::float8, false);
$$;

-- Whether no sum is smaller than the one before it and the cost together; rounding is allowed for.
CREATE FUNCTION hardzero_ledger.adds_up(before jsonb, cost jsonb, after jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog AS $$
    SELECT bool_and(coalesce((after->>part)::float8
               >= ((before->>part)::float8 + (cost->>part)::float8) * (1 - 1e-9), after->>part IS NULL))
    FROM unnest(ARRAY['square', 'rho', 'shift', 'epsilon']) part;
$$;

CREATE FUNCTION hardzero_ledger.append(
    new_dataset text, new_number bigint, new_body text, new_hash text, new_closes bigint
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    entry jsonb := new_body::jsonb;
    kind text := entry->>'kind';
    after jsonb := entry->'after';
    head hardzero_ledger.heads;
    before jsonb;
    good boolean;
BEGIN
    IF kind IN ('created', 'raised') AND NOT hardzero_ledger.is_owner()
        OR NOT hardzero_ledger.is_permitted(new_dataset) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this role may not do this with this data set';
    END IF;
    SELECT * INTO head FROM hardzero_ledger.heads WHERE dataset = new_dataset FOR UPDATE;
    SELECT body::jsonb->'after' INTO before FROM hardzero_ledger.entries
        WHERE dataset = new_dataset AND number = head.number;
    good := encode(sha256(convert_to(new_body, 'UTF8')), 'hex') = new_hash
        AND entry->>'dataset' = new_dataset
        AND (entry->>'number')::bigint = new_number
        AND (entry->>'closes')::bigint IS NOT DISTINCT FROM new_closes
        AND entry->>'by' = session_user
        AND new_number = coalesce(head.number, 0) + 1
        AND entry->>'previous' = coalesce(head.hash, repeat('0', 64))
        AND (kind = 'created') = (head.number IS NULL)
        AND CASE kind
            WHEN 'created' THEN (after->>'reservations')::int = 0
            WHEN 'raised' THEN after - 'cap' - 'limit' - 'order' = before - 'cap' - 'limit' - 'order'
            WHEN 'reserved' THEN
                after - 'total' - 'reservations' - 'alone' = before - 'total' - 'reservations' - 'alone'
                AND (after->>'reservations')::int = (before->>'reservations')::int + 1
                AND ((after->>'alone' IS NULL) OR (before->>'reservations')::int = 0)
                AND hardzero_ledger.adds_up(before->'total', entry->'cost', after->'total')
                AND hardzero_ledger.is_allowed(after)
            WHEN 'committed' THEN after = before
            WHEN 'failed' THEN after = before
            ELSE false END;
    IF kind IN ('committed', 'failed') THEN
        good := good AND EXISTS (
            SELECT FROM hardzero_ledger.entries e
            WHERE e.dataset = new_dataset AND e.number = new_closes AND e.body::jsonb->>'kind' = 'reserved');
    END IF;
    IF good IS NOT TRUE THEN
        RAISE check_violation USING MESSAGE = 'this entry does not follow from the one before it';
    END IF;
    INSERT INTO hardzero_ledger.entries VALUES (new_dataset, new_number, new_body, new_hash, new_closes);
    INSERT INTO hardzero_ledger.heads VALUES (new_dataset, new_number, new_hash)
        ON CONFLICT (dataset) DO UPDATE SET number = excluded.number, hash = excluded.hash;
END $$;

ALTER TABLE hardzero_ledger.heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardzero_ledger.entries ENABLE ROW LEVEL SECURITY;
CREATE POLICY permitted ON hardzero_ledger.heads FOR SELECT USING (hardzero_ledger.is_permitted(dataset));
CREATE POLICY permitted ON hardzero_ledger.entries FOR SELECT USING (hardzero_ledger.is_permitted(dataset));
REVOKE ALL ON FUNCTION hardzero_ledger.append(text, bigint, text, text, bigint) FROM PUBLIC;
