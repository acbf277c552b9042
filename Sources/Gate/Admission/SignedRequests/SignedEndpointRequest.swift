import AppAttest
import Crypto
import KeyStore
package import WireText

/// A request to `/register`, `/devices` or `/unregister`, as received.
package struct SignedEndpointRequest: Sendable {
    package var method: String
    package var fields: SignedFields
    package var body: [UInt8]
    package var address: IPAddress
    package var moment: Moment

    package init(method: String, fields: SignedFields, body: [UInt8], address: IPAddress, moment: Moment) {
        self.method = method
        self.fields = fields
        self.body = body
        self.address = address
        self.moment = moment
    }
}

/// The signature of such a request, of recipe 1 without a body: its form is right, and its challenge was good when it
/// was looked at. Nothing is verified or used up.
struct PresentedEndpointSignature: Sendable {
    let key: KeyID
    let challenge: String
    /// SHA-256 of the client data.
    let clientDataHash: [UInt8]
    private let assertion: [UInt8]

    /// The signature is over the client data alone, although the body has a digest.
    init(
        _ request: SignedEndpointRequest, _ settings: AppAttestSettings, maximumBodyBytes: Int
    ) throws(RefusedRequest) {
        guard request.body.count <= maximumBodyBytes else {
            throw RefusedRequest(Refusal(.bodyTooLarge, detail: "body is over MAX_BODY_BYTES"))
        }
        let signature: PresentedSignature
        do throws(SignedRequestFault) {
            signature = try PresentedSignature(
                request.fields, maximumAssertionBytes: settings.maximumAssertionBytes)
            guard signature.clientData.isOfBody else { throw .recipe }
            let digest = request.body.isEmpty ? nil : Array(SHA256.hash(data: request.body))
            guard signature.bodyDigest == digest else { throw .digest }
        } catch { throw RefusedRequest(error.refusal) }
        if let spending = settings.challenges.refusalOfSigned(signature.challenge, at: request.moment.monotonic) {
            throw RefusedRequest(spending.signedRefusal)
        }
        (key, challenge, assertion) = (signature.key, signature.challenge, signature.assertion)
        clientDataHash = Array(SHA256.hash(data: signature.clientDataBytes))
    }

    func verify(
        _ check: AssertionCheck, by key: AssertionCheck.SigningKey
    ) throws(AssertionFault) -> AssertionCheck.Signed {
        try check.verify(assertion, over: clientDataHash, by: key)
    }

    /// At a registration, by the key of the attestation that comes with it.
    func verify(
        _ check: AssertionCheck, by attestation: VerifiedAttestation
    ) throws(AssertionFault) -> AssertionCheck.Signed {
        try check.verify(assertion, over: clientDataHash, by: attestation)
    }
}
