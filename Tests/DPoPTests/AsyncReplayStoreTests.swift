import DPoP
import DeviceSimulation
import Foundation
import Testing

/// Replay stores that answer later.
struct AsyncReplayStoreTests {
    /// A store that servers could share.
    private actor SharedStore: AsyncReplayStore {
        private let store = MemoryReplayStore()
        private(set) var uses: [ProofUse] = []

        func spend(_ use: ProofUse, at time: Date) async -> ReplaySpending {
            uses.append(use)
            await Task.yield()
            return store.spend(use, at: time)
        }
    }

    private struct AnsweringStore: AsyncReplayStore {
        let answer: ReplaySpending

        func spend(_ use: ProofUse, at time: Date) async -> ReplaySpending { answer }
    }

    private let time = Date(timeIntervalSince1970: 1_760_000_000)
    private let url = "https://api.example/hello"

    private func request(id: String = "1") throws -> ProofRequest {
        let proof = try SimulatedProofKey().sign(SimulatedProof(method: "GET", url: url, time: time, id: id))
        return ProofRequest(proofs: [proof], method: "GET", url: url)
    }

    @Test func `one of many requests with the same proof is accepted`() async throws {
        let (store, request, time) = (SharedStore(), try request(), time)
        let accepted = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    (try? await DPoPVerifier().verify(request, at: time, spending: store)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(accepted == 1)
        #expect(await store.uses.count == 20)
    }

    @Test func `a proof that fails another check isn't passed to the store`() async throws {
        let store = SharedStore()
        var other = try request()
        other.method = "POST"
        let request = other
        await #expect(throws: ProofRefusal.methodMismatch) {
            _ = try await DPoPVerifier().verify(request, at: time, spending: store)
        }
        #expect(await store.uses.isEmpty)
    }

    @Test(arguments: [
        (ReplaySpending.replayed, ProofRefusal.replayed), (.keyLimit, .keyLimit), (.full, .storeFull),
        (.undecidable, .undecidable), (.perhapsInEarlierLife, .perhapsInEarlierLife), (.unavailable, .storeUnavailable),
    ])
    func `every answer but one refuses`(answer: ReplaySpending, refusal: ProofRefusal) async throws {
        let unspent = try DPoPVerifier().check(request(), at: time)
        #expect(throws: refusal) { _ = try unspent.concluded(by: answer) }
        await #expect(throws: refusal) {
            _ = try await unspent.spend(in: AnsweringStore(answer: answer), at: time)
        }
    }

    @Test func `a server with a store of its own passes the store's answer on`() throws {
        let unspent = try DPoPVerifier().check(request(), at: time)
        #expect(unspent.use.identity.count == 16 && unspent.use.key.count == 16)
        #expect(unspent.use.begins == 1_759_999_970 && unspent.use.expires == 1_760_000_030)
        #expect(try unspent.concluded(by: .spent).key == unspent.key)
    }
}
