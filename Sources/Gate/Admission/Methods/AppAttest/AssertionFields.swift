import KeyStore

/// The three `X-App-Assert-*` headers: `nil` means absent, `""` present and empty.
package struct AssertionFields: Sendable {
    package var keyID: String?
    package var data: String?
    package var nonce: String?

    package init(keyID: String? = nil, data: String? = nil, nonce: String? = nil) {
        self.keyID = keyID
        self.data = data
        self.nonce = nonce
    }

    package static let headers = ["x-app-assert-keyid", "x-app-assert-data", "x-app-assert-nonce"]

    init(_ fields: CredentialFields) {
        self.init(
            keyID: fields.header(Self.headers[0]), data: fields.header(Self.headers[1]),
            nonce: fields.header(Self.headers[2]))
    }

    /// The headers that aren't empty, by name.
    var present: String {
        let names = zip(Self.headers, [keyID, data, nonce]).filter { $0.1?.isEmpty == false }.map(\.0)
        return names.isEmpty ? "none that isn't empty" : names.joined(separator: ", ")
    }

    /// One header is enough to choose App Attest.
    package var arePresent: Bool { keyID != nil || data != nil || nonce != nil }
}

/// An assertion as presented in a request.
package struct AssertionCredential: Sendable {
    let fields: AssertionFields
    /// `nil` if the identifier is missing or malformed.
    let key: KeyID?

    init(_ fields: AssertionFields) {
        self.fields = fields
        key = fields.keyID.flatMap(KeyID.init(text:))
    }
}
