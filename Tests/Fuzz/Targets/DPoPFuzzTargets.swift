import FoundationEssentials
import StrictJSON
import WireText

@testable import DPoP

/// Proofs of possession from clients, and the readers of tokens and keys.
let dpopFuzzTargets = [
    FuzzTarget("jose-json") { bytes in
        guard let object = try? JSONReader.readObject(bytes) else { return }
        try require(isUTF8(bytes), "what is read is UTF-8")
        let names = object.members.map { Array($0.name.utf8) }
        try require(Set(names).count == names.count, "no member comes twice")
        for member in object.members {
            guard let text = member.value.string else { continue }
            var writer = JSONWriter()
            writer.member(member.name, text)
            try require(
                try JSONReader.readObject(writer.object)[member.name] == .string(text),
                "what is written reads as the same text")
        }
    },
    FuzzTarget("jws") { bytes in
        let text = text(bytes)
        if let decoded = Base64URL.decode(text) {
            try require(Base64URL.encode(decoded) == text, "bytes have one base64url")
        }
        guard let jws = try? CompactJWS(text) else { return }
        try require(
            text == String(decoding: jws.signingInput, as: UTF8.self) + "." + Base64URL.encode(jws.signature)
                && jws.signature.count == 64
                && text.utf8.count <= JOSELimits.maximumBytes,
            "a JWS is its parts, and no other text is the same one")
    },
    FuzzTarget("jwk") { bytes in
        if let key = try? PublicJWK(json: bytes) {
            try require(try PublicJWK(json: key.canonicalJSON) == key, "a key has one canonical form")
            try require(key.x963.count == 65, "a key is a point")
        }
        if let set = JWKSet(json: bytes) {
            try require(JWKSet(json: set.json) == set && set.keys.count <= JWKSet.maximumKeys, "a set reads as written")
        }
    },
    FuzzTarget("dpop-proof") { bytes in
        let proof = text(bytes)
        let replays = MemoryReplayStore()
        let request = DPoPSample.proofRequest(proof)
        let verifier = DPoPVerifier()
        guard let verified = try? verifier.verify(request, at: DPoPSample.time, spending: replays) else {
            return try require(replays.count == 0, "a refusal uses nothing up")
        }
        try require(
            verified.key == DPoPSample.deviceKey && verified.uri.text == request.url && replays.count == 1,
            "only what the key has signed is verified")
        try require(
            (try? verifier.verify(request, at: DPoPSample.time, spending: replays)) == nil, "and once")
    },
    FuzzTarget("dpop-target") { bytes in
        guard let uri = TargetURI(text(bytes)) else { return }
        try require(TargetURI(uri.text) == uri, "a normal form is normal")
        let parts = uri.text.split(separator: "/", maxSplits: 2)
        try require(
            (parts[0] == "https:" || parts[0] == "http:") && !parts[1].contains("@"), "it has a scheme, and no user")
        let path = "/" + (parts.count > 2 ? parts[2] : "")
        try require(!path.hasSuffix("/..") && !path.contains("/../"), "its path has no dot segment")
    },
    FuzzTarget("access-token") { bytes in
        let text = text(bytes)
        if let token = try? PresentedToken.read(authorization: [text]) {
            try require(text.hasSuffix(" " + token.text), "a token ends its field")
        }
        guard let token = try? PresentedToken.read(authorization: ["Bearer " + text]),
            let verified = try? DPoPSample.tokenVerifier.verify(token, at: DPoPSample.time)
        else { return }
        try require(
            verified.claims.issuer == DPoPSample.issuer && verified.keyID == DPoPSample.signingKey.thumbprint.text
                && verified.claims.boundKey == DPoPSample.deviceKey.thumbprint,
            "only what the key has signed is verified")
    },
]
