import Testing

@testable import portcullis_sim

/// What the tool says about a refusal: its user looks the request up with `portcullis explain`.
@Suite("The words for a refusal")
struct GatewayRefusalTests {
    private func words(_ status: Int, _ code: String?, _ text: String?, _ id: String?) -> String {
        GatewayRefusal.words(status: status, code: code, text: text, requestID: id)
    }

    @Test func `name the request, once`() {
        #expect(
            words(401, "app_auth_required", nil, "r1") == "the gateway refused with 401 app_auth_required (request r1)")
        #expect(
            words(403, "key_revoked", "Key revoked", "r1")
                == "the gateway refused with 403 key_revoked: Key revoked (request r1)")
        let text = "invalid_token: the token has expired (request r1)"
        #expect(words(401, "invalid_token", text, "r1") == "the gateway refused with 401 invalid_token: \(text)")
    }

    @Test func `do without an id, and without a code`() {
        #expect(words(403, "key_revoked", "Gone", nil) == "the gateway refused with 403 key_revoked: Gone")
        #expect(words(502, nil, "Bad Gateway", nil) == "the gateway refused with 502: Bad Gateway")
        #expect(words(404, nil, nil, nil) == "the gateway refused with 404: is it a gateway?")
    }
}
