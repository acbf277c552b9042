extension PostgreSQLSchema.Migration {
    /// Whether a promoted standby has all that was confirmed.
    ///
    /// The name of a standby is the `application_name` of its `primary_conninfo`, where the owner may read that, or its
    /// `cluster_name`: what a walreceiver gives to its primary.
    static let standbys = #"""
        CREATE FUNCTION portcullis.standby_name() RETURNS text LANGUAGE sql
        SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
            SELECT lower(coalesce(
                (SELECT coalesce(m[1], m[2])
                 FROM pg_settings s, regexp_match(
                    s.setting, 'application_name\s*=\s*(?:''([A-Za-z0-9_.-]+)''|([A-Za-z0-9_.-]+)(?=\s|$))') AS m
                 WHERE s.name = 'primary_conninfo'),
                current_setting('cluster_name')))
        $$;
        -- Whether each commit under this synchronous_standby_names had waited for this server: all that it names are
        -- waited for, without a wildcard, and this is one of them.
        CREATE FUNCTION portcullis.was_waited_for(names text) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            parts CONSTANT text[] :=
                regexp_match(names, '^\s*(?:(?:first|any)\s+)?(?:(\d{1,4})\s*)?\((.*)\)\s*$', 'i');
            listed CONSTANT text[] := ARRAY(
                SELECT lower(btrim(n, ' "')) FROM regexp_split_to_table(coalesce(parts[2], names), ',') AS t (n));
        BEGIN
            RETURN '*' <> ALL (listed) AND '' <> ALL (listed)
                AND cardinality(listed) = coalesce(parts[1]::int, 1)
                AND portcullis.standby_name() = ANY (listed);
        END $$;

        """#
}
