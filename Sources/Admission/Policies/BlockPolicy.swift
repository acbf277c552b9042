import KeyStore

/// Refuses whom the operator has blocked, by what a request says and shows of itself, before any of it is checked or used up. Nothing
/// is proven yet: whoever says that he is somebody blocked isn't let in either.
///
/// Whom a ticket belongs to shows only when it is spent: the gate looks at every principal once more.
struct BlockPolicy: AdmissionPolicy {
    let list: BlockList

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        if let refusal = refusal(of: request.address) { return .refused(refusal) }
        if let id = request.assertion.keyID.flatMap(KeyID.init(text:)), list.contains(id) {
            return .refused(.deviceBlocked, "key is blocked")
        }
        if let certificate = request.certificate, list.contains(certificate: certificate.sha256) {
            return .refused(.deviceBlocked, "certificate is blocked")
        }
        return .noOpinion
    }

    func refusal(of address: ClientAddress) -> Refusal? {
        list.contains(address) ? Refusal(.deviceBlocked, detail: "address is blocked") : nil
    }

    func refusal(of principal: Principal) -> Refusal? {
        list.contains(SessionOwner(principal)) ? Refusal(.deviceBlocked, detail: "identity is blocked") : nil
    }
}
