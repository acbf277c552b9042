import AppAttest
import DeviceSimulation
import Foundation
import Reactors

/// The devices with which clients connect, from the command's options.
enum LoadCredentials {
    case none
    /// One device that an earlier command registered.
    case file(String, SimulatedDevice)
    /// New devices, attested by the authority.
    case new([SimulatedDevice], SimulatedAuthority)

    /// A counter may only rise, even if the run crashes: the saved counter is ahead by this much until the end.
    private static let reservedCounters: UInt32 = 10_000_000

    static func device(at path: String) throws -> LoadCredentials {
        guard let saved = try StateFile.read(SimulatedDevice.Saved.self, path) else {
            throw SimOutput.failure("\(path) is not there.", hint: "make it with portcullis-sim device register.")
        }
        let device = try SimulatedDevice(restoring: saved)
        var reserved = device
        reserved.counter += reservedCounters
        try StateFile.write(reserved.saved, path)
        return .file(path, device)
    }

    static func newDevices(_ count: Int, app: AppID, authority path: String) throws -> LoadCredentials {
        .new((0..<count).map { _ in SimulatedDevice(app: app) }, try StateFile.authority(path))
    }

    /// The share of one reactor.
    func devices(thread: Int, of threads: Int) -> [SimulatedDevice] {
        switch self {
        case .none: []
        case .file(_, let device): [device]
        case .new(let devices, _): stride(from: thread, to: devices.count, by: threads).map { devices[$0] }
        }
    }

    /// - Parameter workers: the workers whose devices were used.
    func save(_ workers: [Pinned<LoadWorker>]) async throws {
        guard case .file(let path, _) = self, let worker = workers.first else { return }
        let devices = await worker.ask { $0.devices?.devices ?? [] }
        if let device = devices.first { try StateFile.write(device.saved, path) }
    }
}
