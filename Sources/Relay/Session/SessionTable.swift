import Admission
import RelayCore

/// The sessions of one reactor, so that a shutdown can tell them. Reactor thread only.
final class SessionTable {
    private var drivers: [ObjectIdentifier: SessionDriver] = [:]

    let compressor = ZlibCompressor()

    var count: Int { drivers.count }

    func insert(_ driver: SessionDriver) {
        drivers[ObjectIdentifier(driver)] = driver
    }

    func remove(_ driver: SessionDriver) {
        drivers[ObjectIdentifier(driver)] = nil
    }

    /// - Returns: how many.
    func close(where isMeant: (Principal, ClientAddress) -> Bool, reason: CloseReason) -> Int {
        let meant = drivers.values.filter { isMeant($0.client.principal, $0.client.address) }
        for driver in meant { driver.close(reason) }
        return meant.count
    }

    func shutDown() {
        for driver in Array(drivers.values) {
            driver.shutDown()
        }
    }
}
