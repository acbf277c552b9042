import Admission
package import FoundationEssentials
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
    package init(_ location: StoreLocation) throws(DevelopmentTokenAdministrationError) {
        do throws(StoreOpeningError) { store = try location.open() } catch {
            switch error {
            case .missing(let path): throw .noStore(path: path)
            case .file(let reason): throw .store("\(reason)")
            case .database(let reason): throw .database(reason)
            }
        }
    }

    /// - Parameter store: the running gateway's own.
    init(_ store: any DevelopmentTokenStore) {
        self.store = store
    }

    /// - Parameter routes: the names of its routes; empty: all.
    /// - Returns: the token, which isn't stored and can't be shown again, and its identifier.
    package func issue(
        name: String, routes: [String], days: Int, devices: Int, at time: Date
    ) async throws(DevelopmentTokenAdministrationError) -> (token: String, id: String) {
        guard Self.isName(name) else { throw .name }
        guard routes.isEmpty || Self.areRoutes(routes) else { throw .routes }
        guard (1...Self.maximumDays).contains(days) else { throw .days }
        guard (1...DevelopmentToken.largestDeviceLimit).contains(devices) else { throw .devices }
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
        case .full: throw .full
        }
    }

    /// Calls `show` with a line for each token, in the order in which they were issued.
    ///
    /// - Returns: how many there are.
    package func list(
        at time: Date, json: Bool = false, _ show: (String) -> Void
    ) async throws(DevelopmentTokenAdministrationError) -> Int {
        let tokens = try await all(at: time)
        for token in tokens { show(json ? token.json : token.line) }
        return tokens.count
    }

    func all(at time: Date) async throws(DevelopmentTokenAdministrationError) -> [DevelopmentTokenDescription] {
        let tokens = try await errors { () async throws(KeyRegistryError) in try await store.developmentTokens() }
        return tokens.map { DevelopmentTokenDescription($0, at: milliseconds(time)) }
    }

    package func revoke(_ id: String, at time: Date) async throws(DevelopmentTokenAdministrationError) {
        guard let id = DevelopmentTokenID(text: id) else { throw .malformedID }
        let now = milliseconds(time)
        let isKnown = try await errors { () async throws(KeyRegistryError) in try await store.revoke(id, at: now) }
        guard isKnown else { throw .unknown }
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
    ) async throws(DevelopmentTokenAdministrationError) -> Result {
        do throws(KeyRegistryError) {
            return try await body()
        } catch {
            throw .store("\(error)")
        }
    }
}

package enum DevelopmentTokenAdministrationError: Error, CustomStringConvertible {
    case store(String)
    case database(FleetStoreError)
    /// The gateway hasn't run yet, or the path is wrong.
    case noStore(path: String)
    case name
    case routes
    case days
    case devices
    case full
    case malformedID
    case unknown

    package var description: String {
        switch self {
        case .store(let reason): "the key store can't be used: \(reason)"
        case .database(let error): "\(error)"
        case .noStore(let path): "no development tokens yet: no database at \(EscapedText(NamedFile.absolute(path)))"
        case .name: "a name has 1 to \(DevelopmentToken.maximumNameBytes) visible ASCII characters"
        case .routes:
            "routes are up to \(DevelopmentToken.maximumRoutes) different names in lower case, as in TARGET_ROUTES"
        case .days: "a token is valid for 1 to \(DevelopmentTokenAdministration.maximumDays) days"
        case .devices: "a token is for 1 to \(DevelopmentToken.largestDeviceLimit) devices"
        case .full: "the store has \(DevelopmentTokenLimits.maximumTokens) development tokens, which is the maximum"
        case .malformedID: "this is no identifier of a development token: it has 16 hexadecimal digits"
        case .unknown: "no such development token"
        }
    }

    package var hint: String? {
        switch self {
        case .store: "portcullis store check says what is wrong with it."
        case .database(let error): error.hint
        case .noStore: StoreOpeningError.hint
        case .malformedID, .unknown: "portcullis dev-tokens list shows all."
        case .full: "tokens leave the list 90 days after they have expired or were revoked."
        case .name, .routes, .days, .devices: nil
        }
    }
}
