import Foundation

package struct SimulatedApple: Sendable {
    package struct App: Sendable { package var teamID, bundleID: String }; package let app: App;
    package let rootPath: String
}
package actor SimulatedKeyService {
    func generateKey() async throws -> String { "" }
    func attestKey(_ k: String, clientDataHash: Data) async throws -> Data { Data() }
    func generateAssertion(_ k: String, clientDataHash: Data) async throws -> Data { Data() }
}
