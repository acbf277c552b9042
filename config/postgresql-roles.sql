-- The rights in the schema `portcullis` of a fleet's database, for three roles: the owner, which runs `portcullis store migrate` and this script;
-- the operator, whose STORE_URL the commands have; and the gateways, whose STORE_URL `portcullis serve` has. All three have to exist.
--
--     psql --set=gateway=portcullis_gateway --set=operator=portcullis_operator --file=postgresql-roles.sql \
--         "host=db.example.org dbname=portcullis user=portcullis sslmode=verify-full sslrootcert=/etc/portcullis/store-ca.pem"
--
-- Run it after the first `store migrate`, and after each later one, before a gateway of the new version starts: that uses more. Its user has to own the database, too: only then can it shut others out of it.
\set ON_ERROR_STOP on
BEGIN;
-- Nobody else connects. Whoever may connect can take its connections, fill its queue of notifications and keep old rows from being removed.
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC, :"gateway", :"operator";
GRANT CONNECT ON DATABASE :"DBNAME" TO :"gateway", :"operator", CURRENT_USER;
DO $$ BEGIN
    IF has_database_privilege('public', current_database(), 'CONNECT')
        OR has_database_privilege('public', current_database(), 'TEMPORARY')
    THEN RAISE EXCEPTION 'PUBLIC can still connect: run this script as the owner of the database'; END IF;
END $$;
REVOKE ALL ON SCHEMA portcullis FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA portcullis FROM PUBLIC, :"gateway", :"operator";
GRANT USAGE ON SCHEMA portcullis TO :"gateway", :"operator";
GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO :"gateway", :"operator";

-- The operator's commands may change all rows, but neither the tables nor their version.
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA portcullis TO :"operator";
REVOKE INSERT, UPDATE, DELETE ON portcullis.schema FROM :"operator";

-- A gateway registers keys and raises counters. It can neither lift a revocation, nor remove a key, nor issue, extend or restore a development token.
GRANT INSERT ON portcullis.device_key, portcullis.receipt, portcullis.development_place TO :"gateway";
GRANT UPDATE (
    public_key, app, environment, trust_root, counter, window_top, window_seen, window_epoch, validation_category,
    bundle_version, last_used_at
) ON portcullis.device_key TO :"gateway";
GRANT UPDATE (size, epoch) ON portcullis.counter_window TO :"gateway";
GRANT UPDATE (receipt) ON portcullis.receipt TO :"gateway";
GRANT UPDATE (last_used_at) ON portcullis.development_token, portcullis.development_place TO :"gateway";
-- It renews the keys that sign access tokens, and the secrets of the fleet. By an update of their version that changes nothing it tries whether the database can be
-- written.
GRANT UPDATE (version) ON portcullis.signing_state TO :"gateway";
GRANT INSERT, DELETE ON portcullis.signing_key, portcullis.secret TO :"gateway";
-- It tells others of changes, and forgets old ones. Who may update the row of feed can lock it, which orders the changes.
GRANT INSERT, DELETE ON portcullis.changes TO :"gateway";
GRANT UPDATE (forgotten_through) ON portcullis.feed TO :"gateway";
-- The incarnation, and what was used.
GRANT INSERT, DELETE ON portcullis.home, portcullis.spent, portcullis.ticket TO :"gateway";
GRANT UPDATE (forgotten, is_full) ON portcullis.home TO :"gateway";
GRANT UPDATE (uses, expires) ON portcullis.ticket TO :"gateway";
-- It does the fleet's housekeeping, in turn with the others.
GRANT INSERT ON portcullis.upkeep TO :"gateway";
GRANT UPDATE (began) ON portcullis.upkeep TO :"gateway";
-- It tells the others that it lives, and removes the rows of those that don't.
GRANT INSERT, DELETE ON portcullis.gateway TO :"gateway";
GRANT UPDATE (
    name, version, schema, state, sessions, connections, lag, address, started, heartbeat, announced,
    announced_at
) ON portcullis.gateway TO :"gateway";
-- It tells where its sessions are.
GRANT INSERT, DELETE, UPDATE ON portcullis.session TO :"gateway";
-- It notes how many sessions each client has.
GRANT INSERT, DELETE, UPDATE ON portcullis.holding TO :"gateway";
-- It makes players' accounts and records their use, and removes what players remove. It can neither open a closed account nor move a passkey to another one.
GRANT INSERT, DELETE ON portcullis.account, portcullis.passkey, portcullis.account_device, portcullis.account_end TO :"gateway";
GRANT UPDATE (last_used_at) ON portcullis.account TO :"gateway";
-- Who may update it can lock its rows.
GRANT UPDATE (ended_at) ON portcullis.account_end TO :"gateway";
GRANT UPDATE (sign_count, flags, last_used_at) ON portcullis.passkey TO :"gateway";
GRANT UPDATE (label) ON portcullis.account_device TO :"gateway";
-- It begins, uses and ends families of refresh tokens. It can move none to another account or key.
GRANT INSERT, DELETE ON portcullis.refresh_family TO :"gateway";
GRANT UPDATE (hash, last_hash, sealed, last_expires_at, repeated_late, used_at, expires_at) ON portcullis.refresh_family TO :"gateway";
GRANT UPDATE (epoch, history, marked, place, timeline, standbys) ON portcullis.refresh_home TO :"gateway";
-- It is a witness of what was confirmed.
GRANT INSERT, DELETE ON portcullis.refresh_witness TO :"gateway";
GRANT UPDATE (beats, beat_at) ON portcullis.refresh_witness TO :"gateway";
-- With ADMIN_CONSOLE=on gateways revoke and restore keys, and revoke development tokens, too:
-- GRANT UPDATE (revoked_at, revocation_reason) ON portcullis.device_key TO :"gateway";
-- GRANT DELETE ON portcullis.device_key TO :"gateway";
-- GRANT UPDATE (revoked_at) ON portcullis.development_token TO :"gateway";
-- With SIGNED_REQUESTS=on devices unregister themselves; without these three lines such a gateway doesn't start:
-- GRANT UPDATE (registered_at, revoked_at, revocation_reason) ON portcullis.device_key TO :"gateway";
-- GRANT DELETE ON portcullis.device_key TO :"gateway";
-- GRANT DELETE ON portcullis.development_place TO :"gateway";
COMMIT;
