import AppAttest
import DeviceSimulation

/// A device in its file. It is saved before its counter is used, because a counter must never be used twice.
struct DeviceFile: Sendable {
    let path: String
    private(set) var device: SimulatedDevice
    /// The file existed: the device may be registered already.
    let wasKept: Bool

    /// Reads the file, or makes a new device of this app.
    static func keptOrNew(at path: String, team: String, bundle: String) throws -> DeviceFile {
        if let kept = try kept(at: path) { return kept }
        guard let app = AppID(teamID: team, bundleID: bundle) else {
            throw SimOutput.failure("--team takes 10 capital letters and digits, --bundle an app's identifier.")
        }
        return DeviceFile(path: path, device: SimulatedDevice(app: app), wasKept: false)
    }

    /// - Returns: nil if there is no such file.
    static func kept(at path: String) throws -> DeviceFile? {
        guard let saved = try StateFile.read(SimulatedDevice.Saved.self, path) else { return nil }
        return DeviceFile(path: path, device: try SimulatedDevice(restoring: saved), wasKept: true)
    }

    func save() throws { try StateFile.write(device.saved, path) }

    mutating func assert(clientDataHash: [UInt8]) throws -> [UInt8] {
        let assertion = try device.assert(clientDataHash: clientDataHash)
        try save()
        return assertion
    }
}
