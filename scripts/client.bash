# Sourced by scripts that try a gateway with an app's requests: programs in the background, and a client with a device key that signs proofs (RFC 9449).
# Needs `die` of setup.bash, and `state`, a folder for its files. `token` is the access token, if there is one.

# plain PROGRAM ARGUMENT…: runs it without the caller's environment, which may have settings of another gateway.
plain() { exec env -i PATH="$PATH" HOME="$state" ${LD_LIBRARY_PATH:+LD_LIBRARY_PATH="$LD_LIBRARY_PATH"} "$@"; }

# await FILE PATTERN NAME: waits until a line of FILE matches, and prints it.
await() {
    local try
    for try in $(seq 200); do
        if grep -m1 -E "$2" "$1" 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    cat "$1" >&2
    die "$3 did not start." "see its log above."
}

free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

b64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# Makes the device key, as in a phone's secure hardware, and its public half `jwk`.
make_device() {
    local point x y
    openssl ecparam -name prime256v1 -genkey -noout -out "$state/device.pem"
    point=$(openssl ec -in "$state/device.pem" -pubout -outform DER 2>/dev/null | tail -c 64 | od -An -v -tx1 | tr -d ' \n')
    x=$(printf '%s' "${point:0:64}" | sed 's/../\\x&/g' | xargs -0 printf | b64url)
    y=$(printf '%s' "${point:64:64}" | sed 's/../\\x&/g' | xargs -0 printf | b64url)
    jwk="{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"$x\",\"y\":\"$y\"}"
}

# proof METHOD URL [NONCE]: a DPoP proof (RFC 9449) of the device key, for the access token if there is one.
proof() {
    local nonce=${3:+",\"nonce\":\"$3\""} ath= signed hex r s
    [ -z "${token:-}" ] || ath=",\"ath\":\"$(printf '%s' "$token" | openssl dgst -sha256 -binary | b64url)\""
    signed=$(printf '{"alg":"ES256","jwk":%s,"typ":"dpop+jwt"}' "$jwk" | b64url).$(printf \
        '{"htm":"%s","htu":"%s","iat":%s,"jti":"%s"%s%s}' "$1" "$2" "$(date +%s)" "$(openssl rand -hex 16)" "$nonce" "$ath" | b64url)
    # The signature's two numbers, out of their DER into 32 bytes each.
    read -r r s <<<"$(printf '%s' "$signed" | openssl dgst -sha256 -sign "$state/device.pem" \
        | openssl asn1parse -inform DER | sed -n 's/.*INTEGER *://p' | tr '\n' ' ')"
    hex=$(printf '%64s%64s' "$r" "$s" | tr ' ' '0')
    printf '%s.%s' "$signed" "$(printf '%s' "$hex" | sed 's/../\\x&/g' | xargs -0 printf | b64url)"
}

field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$2" | head -n 1; }
header() { sed -n "s/^$1: *\([^\r]*\).*/\1/Ip" "$2" | head -n 1; }
