import Admission
package import FoundationEssentials
import GatewayServer
import KeyStore
import Observability
import RelayCore
package import Settings

/// The operator's administration of development tokens, on a store that a gateway may be using at the same time.
package struct DevelopmentTokenAdministration {
    /// The largest `days` of a token.
    package static let maximumDays = 365

    private let store: any DevelopmentTokenStore

    /// - Parameter location: an existing store; it isn't created.
    package init(_ location: StoreLocation) throws(OperatorError) {
        store = try location.open(without: "no development tokens yet")
    }

    init(_ store: any DevelopmentTokenStore) {
        self.store = store
    }

    /// - Parameter routes: the names of its routes; empty: all.
    /// - Returns: the token, which isn't stored and can't be shown again, and its identifier.
    package func issue(
        name: String, routes: [String], days: Int, devices: Int, at time: Date
    ) async throws(OperatorError) -> (token: String, id: String) {
        guard Self.isName(name) else { throw .tokenName }
        guard routes.isEmpty || Self.areRoutes(routes) else { throw .tokenRoutes }
        guard (1...Self.maximumDays).contains(days) else { throw .tokenDays }
        guard (1...DevelopmentToken.largestDeviceLimit).contains(devices) else { throw .tokenDevices }
        guard let text = DevelopmentTokenText(random: RandomBytes.make(DevelopmentTokenText.randomBytes)) else {
            throw .store("no random bytes")
        }
        let now = milliseconds(time)
        let token = DevelopmentToken(
            hash: text.hash, name: name, routes: routes.isEmpty ? nil : routes, maximumDevices: devices, issuedAt: now,
            expiresAt: now + Int64(days) * 86_400_000)
        switch try await errors({ () async throws(KeyRegistryError) in try await store.issue(token) }) {
        case .issued: return (text.text, token.id.text)
        case .repeated: throw .store("two tokens would have one identifier; try again")
        case .full: throw .tooManyTokens
        }
    }

    /// Calls `show` with a line for each token, in the order in which they were issued.
    ///
    /// - Returns: how many there are.
    package func list(
        at time: Date, json: Bool = false, _ show: (String) -> Void
    ) async throws(OperatorError) -> Int {
        let tokens = try await all(at: time)
        for token in tokens { show(json ? token.json : token.line) }
        return tokens.count
    }

    func all(at time: Date) async throws(OperatorError) -> [DevelopmentTokenDescription] {
        let tokens = try await errors { () async throws(KeyRegistryError) in try await store.developmentTokens() }
        return tokens.map { DevelopmentTokenDescription($0, at: milliseconds(time)) }
    }

    package func revoke(_ id: String, at time: Date) async throws(OperatorError) {
        guard let id = DevelopmentTokenID(text: id) else { throw .malformedTokenID }
        let now = milliseconds(time)
        let isKnown = try await errors { () async throws(KeyRegistryError) in try await store.revoke(id, at: now) }
        guard isKnown else { throw .unknownToken }
    }

    private func milliseconds(_ time: Date) -> Int64 { Int64(time.timeIntervalSince1970 * 1_000) }

    /// Visible text: it is shown in terminals, logs and header fields.
    static func isName(_ text: String) -> Bool {
        let space = UInt8(ascii: " ")
        return (1...DevelopmentToken.maximumNameBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.first != space
            && text.utf8.last != space
    }

    /// At least one, all different.
    static func areRoutes(_ names: [String]) -> Bool {
        (1...DevelopmentToken.maximumRoutes).contains(names.count) && names.allSatisfy(Route.isName)
            && Set(names.map { Array($0.utf8) }).count == names.count
    }

    private func errors<Result>(
        _ body: () async throws(KeyRegistryError) -> Result
    ) async throws(OperatorError) -> Result {
        do throws(KeyRegistryError) {
            return try await body()
        } catch {
            throw .store("\(error)")
        }
    }
}

extension OperatorError {
    private static let allTokens = "portcullis dev-tokens list shows all."

    static let tokenName = OperatorError(
        "a name has 1 to \(DevelopmentToken.maximumNameBytes) visible ASCII characters")
    static let tokenRoutes = OperatorError(
        "routes are up to \(DevelopmentToken.maximumRoutes) different names in lower case, as in TARGET_ROUTES")
    static let tokenDays = OperatorError(
        "a token is valid for 1 to \(DevelopmentTokenAdministration.maximumDays) days")
    static let tokenDevices = OperatorError("a token is for 1 to \(DevelopmentToken.largestDeviceLimit) devices")
    static let tooManyTokens = OperatorError(
        "the store has \(DevelopmentTokenLimits.maximumTokens) development tokens, which is the maximum",
        hint: "tokens leave the list 90 days after they have expired or were revoked.")
    static let malformedTokenID = OperatorError(
        "this is no identifier of a development token: it has 16 hexadecimal digits", hint: allTokens)
    static let unknownToken = OperatorError("no such development token", hint: allTokens)
}
