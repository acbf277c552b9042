import Crypto
import DPoP
import WireText

/// The request whose signature is checked, as the gateway or a proxy has seen it.
package struct SignedResource: Sendable {
    package enum Body: Sendable {
        /// There is none.
        case absent
        /// All of it was seen.
        case hashed(HashedBody)
        /// A proxy has it.
        case unseen
    }

    package var method: String
    /// As the client sees it; empty for a request to another host than the gateway's.
    package var url: String
    package var body: Body

    package init(method: String, url: String, body: Body) {
        self.method = method
        self.url = url
        self.body = body
    }

    fileprivate var hasNoBody: Bool {
        switch body {
        case .absent: true
        case .hashed(let hashed): hashed.count == 0
        case .unseen: false
        }
    }
}

/// What a signature is over, if it is the key's.
struct BoundSignature: Sendable, Equatable {
    let clientDataHash: [UInt8]
    let digest: ContentDigest
}

extension PresentedSignature {
    /// Holds what the client says it has signed against the request. Nothing is used up.
    func bound(to resource: SignedResource) throws(SignedRequestFault) -> BoundSignature {
        // RFC 9110 section 9.3.1: a GET's content has no meaning.
        guard bodyDigest == nil || !["GET", "HEAD"].containsBytes(of: resource.method) else { throw .digestOfGET }
        switch clientData.recipe {
        case .body: return try boundToBody(of: resource)
        case .request(let method, let url, let digest):
            guard method.hasSameBytes(as: resource.method) else { throw .method }
            guard let target = TargetURI(resource.url), target == url else { throw .url }
            try check(digest, resource)
            return BoundSignature(clientDataHash: Array(SHA256.hash(data: clientDataBytes)), digest: digest)
        }
    }

    private func boundToBody(of resource: SignedResource) throws(SignedRequestFault) -> BoundSignature {
        switch resource.body {
        case .unseen: throw .bodyUnseen
        case _ where resource.hasNoBody:
            guard bodyDigest == nil else { throw .digest }
            return BoundSignature(clientDataHash: Array(SHA256.hash(data: clientDataBytes)), digest: .absent)
        case .hashed(let body):
            guard bodyDigest == body.digest else { throw .digest }
            return BoundSignature(clientDataHash: body.signed, digest: .sha256(body.digest))
        case .absent: throw .digest
        }
    }

    /// The header field may repeat the digest. A body that was seen has to be the one that it says.
    private func check(_ digest: ContentDigest, _ resource: SignedResource) throws(SignedRequestFault) {
        if let bodyDigest, digest != .sha256(bodyDigest) { throw .digest }
        switch resource.body {
        case .unseen: return
        case _ where resource.hasNoBody: guard digest == .absent else { throw .digest }
        case .hashed(let body): guard digest == .sha256(body.digest) else { throw .digest }
        case .absent: throw .digest
        }
    }
}
