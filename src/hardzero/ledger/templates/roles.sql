-- Three roles that nobody logs in as: GRANT them to people. Readers see, spenders also reserve and commit, owners also
-- create data sets and raise caps. Readers and spenders see the data sets that permissions lists for a role of theirs.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['hardzero_owner', 'hardzero_spender', 'hardzero_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
    END LOOP;
END $$;
GRANT hardzero_reader TO hardzero_spender;
GRANT hardzero_spender TO hardzero_owner;
GRANT USAGE ON SCHEMA hardzero_ledger TO hardzero_reader;
GRANT SELECT ON hardzero_ledger.heads, hardzero_ledger.entries TO hardzero_reader;
GRANT EXECUTE ON FUNCTION hardzero_ledger.append(text, bigint, text, text, bigint) TO hardzero_spender;
GRANT SELECT, INSERT, DELETE ON hardzero_ledger.permissions TO hardzero_owner;
