# Certificate authorities for trials, with arbitrary dates and revocation lists. Sourced after trial.bash, with `state` set:
# `make_authority`, `issue`, `revoke`, `make_list`, `time_at`, `serial_of`.

# time_at OFFSET: prints a time in the format of openssl ca; OFFSET as for date(1): '-1 day'.
time_at() { date -u -d "$1" +%Y%m%d%H%M%SZ; }

# make_authority NAME: the authority and all its certificates are valid from a day ago, so that the clock may step back.
make_authority() {
    local folder=$state/authorities/$1
    mkdir -p "$folder"
    : >"$folder/index.txt"
    printf '1000\n' >"$folder/serial"
    printf '01\n' >"$folder/crlnumber"
    cat >"$folder/openssl.cnf" <<CONFIG
[ca]
default_ca = this
[this]
database = $folder/index.txt
serial = $folder/serial
crlnumber = $folder/crlnumber
new_certs_dir = $folder
certificate = $folder/ca.pem
private_key = $folder/ca.key
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[client]
basicConstraints = critical,CA:false
keyUsage = critical,digitalSignature
[server]
basicConstraints = critical,CA:false
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost,IP:127.0.0.1
CONFIG
    issue "$1" ca "soak authority $1" '-1 day' '+10 days' authority -selfsign
}

# issue AUTHORITY FILE NAME FROM UNTIL [KIND [ARGUMENT…]]: makes FILE.pem and FILE.key in the authority's folder.
issue() {
    local folder=$state/authorities/$1 file=$2 name=$3 from=$4 until=$5 kind=${6:-client}
    shift $(($# < 6 ? $# : 6))
    openssl_quietly req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/$file.key" -subj "/CN=$name" \
        -out "$folder/$file.csr"
    openssl_quietly ca -config "$folder/openssl.cnf" -batch -notext -extensions "$kind" -startdate "$(time_at "$from")" \
        -enddate "$(time_at "$until")" -in "$folder/$file.csr" -out "$folder/$file.pem" "$@"
}

# revoke AUTHORITY FILE: revokes a certificate in all lists made from now on.
revoke() { openssl_quietly ca -config "$state/authorities/$1/openssl.cnf" -revoke "$state/authorities/$1/$2.pem"; }

# make_list AUTHORITY FILE: writes the current revocation list.
make_list() {
    openssl_quietly ca -config "$state/authorities/$1/openssl.cnf" -gencrl -crl_lastupdate "$(time_at '-1 day')" \
        -crl_nextupdate "$(time_at '+10 days')" -out "$2"
}

# serial_of FILE: prints the serial number of its first certificate.
serial_of() { openssl x509 -in "$1" -noout -serial; }

openssl_quietly() {
    local said
    said=$(openssl "$@" 2>&1) || die "openssl $1 failed: $said"
}
