import Reactors
import Testing

@testable import GatewayServer

/// The operator's error message if the gateway can't listen.
struct ListenErrorTests {
    private func message(_ error: ReactorError) -> String? {
        do throws(GatewayError) {
            try gatewayErrors { () throws(ReactorError) in throw error }
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `a missing permission for a port is explained with the capability and how to grant it`() throws {
        let text = try #require(message(.portNotPermitted(address: "0.0.0.0:443")))
        #expect(text.hasPrefix("0.0.0.0:443 can't be listened on: "))
        for words in ["CAP_NET_BIND_SERVICE", "AmbientCapabilities=CAP_NET_BIND_SERVICE", "setcap", "WS_PORT"] {
            #expect(text.contains(words))
        }
    }

    @Test func `another error names the settings to check`() {
        #expect(
            message(.bindFailed(address: "[::1]:6200", reason: "Address already in use"))
                == "[::1]:6200 can't be listened on: Address already in use. Check BIND_HOST and WS_PORT.")
    }
}
