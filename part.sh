b64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# A device key, as in a phone's secure hardware.
openssl ecparam -name prime256v1 -genkey -noout -out "$state/device.pem"
point=$(openssl ec -in "$state/device.pem" -pubout -outform DER 2>/dev/null | tail -c 64 | od -An -v -tx1 | tr -d ' \n')
x=$(printf '%s' "${point:0:64}" | sed 's/../\\x&/g' | xargs -0 printf | b64url)
y=$(printf '%s' "${point:64:64}" | sed 's/../\\x&/g' | xargs -0 printf | b64url)
jwk="{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"$x\",\"y\":\"$y\"}"

# proof METHOD URL [NONCE]: a DPoP proof (RFC 9449) of the device key.
proof() {
    local nonce=${3:+",\"nonce\":\"$3\""} signed hex r s
    signed=$(printf '{"alg":"ES256","jwk":%s,"typ":"dpop+jwt"}' "$jwk" | b64url).$(printf \
        '{"htm":"%s","htu":"%s","iat":%s,"jti":"%s"%s}' "$1" "$2" "$(date +%s)" "$(openssl rand -hex 16)" "$nonce" | b64url)
    # The signature's two numbers, out of their DER into 32 bytes each.
    read -r r s <<<"$(printf '%s' "$signed" | openssl dgst -sha256 -sign "$state/device.pem" \
        | openssl asn1parse -inform DER | sed -n 's/.*INTEGER *://p' | tr '\n' ' ')"
    hex=$(printf '%64s%64s' "$r" "$s" | tr ' ' '0')
    printf '%s.%s' "$signed" "$(printf '%s' "$hex" | sed 's/../\\x&/g' | xargs -0 printf | b64url)"
}

