import Crypto
import DeviceSimulation
import Foundation

// MARK: Requests that are signed one by one

extension LoadDevices {
    /// The fields of a request that the client's device signs: over the body with recipe 1, over its digest with 2. Its
    /// challenge is that of the last answer, if there is one.
    func signedHeaders(
        for client: Int, _ method: String, path: String, body: [UInt8], recipe: Int, _ done: @escaping Done
    ) {
        let index = client % slots.count
        func sign(_ challenge: String) -> Result<Headers, ErrorKind> {
            let url = recipe == 2 ? origin + path : nil
            return signed(index, method, url, body, challenge).map { .success($0) } ?? .failure(.noChallenge)
        }
        if let challenge = slots[index].challenge {
            slots[index].challenge = nil
            return done(sign(challenge))
        }
        requests.signedChallenge { done($0.flatMap(sign)) }
    }

    func keep(_ challenge: String?, for client: Int) { slots[client % slots.count].challenge = challenge }

    /// - Parameter url: nil: recipe 1.
    private func signed(
        _ index: Int, _ method: String, _ url: String?, _ body: [UInt8], _ challenge: String
    ) -> Headers? {
        let digest = Data(SHA256.hash(data: body)).base64EncodedString()
        var members = "\"challenge\":\"\(challenge)\""
        if let url { members += ",\"htm\":\"\(method)\",\"htu\":\"\(url)\",\"digest\":\"sha-256=:\(digest):\"" }
        let data = Array("{\(members)}".utf8)
        let hash = Array(SHA256.hash(data: url == nil ? data + body : data))
        guard let assertion = try? slots[index].device.assert(clientDataHash: hash) else { return nil }
        return [
            ("X-AppAttest-KeyId", slots[index].device.keyIDText), ("X-AppAttest-Challenge", challenge),
            ("X-AppAttest-Assertion", Data(assertion).base64EncodedString()),
            ("X-AppAttest-ClientData", String(decoding: data, as: UTF8.self)), ("X-AppAttest-BodySHA256", digest),
        ]
    }
}
