import Foundation

/// The device key, made at the first use and kept. A key that isn't of this device, as after a restored backup, is
/// replaced; one that only can't be used at the moment never is, because tokens are bound to it.
actor DeviceKeyCustody {
    private let maker: any DeviceKeyMaker
    private let secrets: any SecretStore
    private let log: ClientLog
    private let name: String
    private var signer: ProofSigner?

    init(_ configuration: GateConfiguration, _ platform: ClientPlatform) {
        (maker, secrets, log) = (platform.deviceKeys, platform.secrets, ClientLog(configuration, platform))
        name = StoredName.of("device-key", configuration)
    }

    func key() throws -> ProofSigner {
        if let signer { return signer }
        let signer = try ProofSigner(try restored() ?? made())
        self.signer = signer
        return signer
    }

    private func restored() throws -> (any DeviceKey)? {
        let kept: Data?
        do { kept = try secrets.read(name) } catch { throw GateError.storage("\(error)") }
        guard let kept else { return nil }
        do {
            return try maker.restoreKey(kept)
        } catch is DeviceKeyGone {
            log.warning("the device key isn't of this device; making another one")
            return nil
        } catch {
            throw GateError.deviceKey("\(error)")
        }
    }

    private func made() throws -> any DeviceKey {
        do {
            let (key, restoration) = try maker.makeKey()
            try secrets.write(name, restoration)
            log.info("made a device key")
            return key
        } catch {
            throw GateError.deviceKey("\(error)")
        }
    }
}
