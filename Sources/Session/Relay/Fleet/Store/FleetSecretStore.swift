import Admission
import KeyStore
import WireText

/// The generations of a fleet's secrets in its store. Whichever gateway makes a generation first, all get the same one.
/// The calls block.
struct FleetSecretStore {
    private let registry: any SharedSecretStore

    init(_ registry: any SharedSecretStore) { self.registry = registry }

    /// Makes the first generation if there is none, and the next one if it is due.
    ///
    /// - Parameter time: in the fleet's time.
    /// - Returns: the generations that the store has now.
    func keepUp(at time: Int64) throws(KeyRegistryError) -> FleetSecrets {
        guard let secrets = try load() else {
            let first = FleetSecrets.Generation(number: 1, secret: Self.random, issuesFrom: time)
            guard let first else { throw Self.damage }
            _ = try registry.secret(named: first.name, creating: first.stored)
            return try loaded()
        }
        guard secrets.isRotationDue(at: time), let rotated = secrets.rotated(to: Self.random, at: time),
            let next = rotated.generations.last
        else { return secrets }
        _ = try registry.secret(named: next.name, creating: next.stored)
        try removeAll(before: rotated.generations[0].number)
        return try loaded()
    }

    private func removeAll(before number: UInt32) throws(KeyRegistryError) {
        try registry.removeSecrets(try generations().filter { $0.number < number }.map(\.name))
    }

    private func loaded() throws(KeyRegistryError) -> FleetSecrets {
        guard let secrets = try load() else { throw Self.damage }
        return secrets
    }

    /// - Returns: nil if there is none.
    private func load() throws(KeyRegistryError) -> FleetSecrets? {
        let generations = try generations()
        guard !generations.isEmpty else { return nil }
        guard let secrets = FleetSecrets(generations.suffix(FleetSecrets.maximumGenerations)) else {
            throw Self.damage
        }
        return secrets
    }

    /// By number.
    private func generations() throws(KeyRegistryError) -> [FleetSecrets.Generation] {
        var generations: [FleetSecrets.Generation] = []
        for (name, stored) in try registry.secrets(prefix: FleetSecrets.Generation.namePrefix) {
            guard let generation = FleetSecrets.Generation(name: name, stored: stored) else { throw Self.damage }
            generations.append(generation)
        }
        return generations.sorted { $0.number < $1.number }
    }

    private static var random: [UInt8] { RandomBytes.make(FleetSecrets.Generation.secretBytes) }
    private static let damage = KeyRegistryError.unavailable("the fleet's secrets in the store are damaged")
}
