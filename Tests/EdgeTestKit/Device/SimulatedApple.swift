package import AppAttest
package import DeviceSimulation
import Foundation

/// A replacement for Apple, with its root in a file that a gateway can read, and the devices it attests.
package struct SimulatedApple: Sendable {
    /// The app that the gateway under test is configured for.
    package let app: AppID
    package let rootPath: String
    package let authority: SimulatedAuthority
    private let directory: TemporaryDirectory

    package init() throws {
        app = try Self.app(bundleID: "com.example.mudclient")
        authority = try SimulatedAuthority(at: Date())
        directory = try TemporaryDirectory()
        rootPath = try directory.write(authority.rootPEM, to: "simulated-root.pem")
    }

    /// A new device with a new key that the gateway doesn't know yet.
    ///
    /// - Parameters:
    ///   - bundleID: of another app; nil: the configured app.
    ///   - validationCategory: the app's distribution as stated by the device; nil: not stated.
    package func device(bundleID: String? = nil, validationCategory: UInt32? = nil) throws -> TestDevice {
        var options = SimulatedDevice.Options()
        options.extensions = validationCategory.map { SimulatedExtensions(validationCategory: $0) }
        let app = try bundleID.map(Self.app(bundleID:)) ?? app
        return TestDevice(SimulatedDevice(app: app, options: options), authority: authority)
    }

    /// A new device that the gateway has registered.
    package func enrolledDevice(at gateway: GatewayProcess) async throws -> TestDevice {
        let device = try device()
        let answer = try await device.register(at: gateway)
        guard answer.status == 200 else { throw EdgeTestError("the device was not registered: \(answer)") }
        return device
    }

    private static func app(bundleID: String) throws -> AppID {
        guard let app = AppID(teamID: "PORTCULL15", bundleID: bundleID) else { throw EdgeTestError("not an app id") }
        return app
    }
}
