import Foundation
import Testing

@testable import Relay

/// What operators see of sessions.
struct SurveyTests {
    /// The ids of all sessions of a loop, after a whole walk in the shortest slices.
    ///
    /// - Parameter between: called after the first slice.
    private func survey(_ bench: Bench, _ loop: Int, _ between: () -> Void = {}) -> [String]? {
        var found: [String]?
        bench.network.run(on: bench.loops[loop]) {
            SessionSurvey(bench.tables[loop], on: bench.loops[loop], into: [String](), slice: 0) {
                $0.append($1.client.session)
            } done: {
                found = $0
            }.advance()
        }
        between()
        bench.network.settle()
        return found
    }

    @Test func `a walk visits every session of its loop once, attached or not`() throws {
        let bench = try Bench()
        var ids: Set<String> = []
        for number in 0..<100 {
            let player = try bench.player(on: number % 2)
            if number % 2 == 0, let id = player.session?.client.session { ids.insert(id) }
            if number % 3 == 0 { player.socket.lose() }
        }
        bench.network.settle()
        let found = try #require(survey(bench, 0))
        #expect(found.count == ids.count && Set(found) == ids)
    }

    @Test func `sessions that leave their loop during a walk aren't visited`() throws {
        let bench = try Bench()
        for _ in 0..<100 { _ = try bench.player() }
        let sessions = bench.sessions(on: 0)
        let found = try #require(
            survey(bench, 0) {
                bench.network.run(on: bench.loops[0]) { sessions.forEach(bench.tables[0].remove) }
            })
        #expect(found.count == 32 && Set(found).count == 32)
        bench.network.run(on: bench.loops[0]) { sessions.forEach(bench.tables[0].insert) }
        #expect(survey(bench, 0)?.count == 100 && survey(bench, 1)?.isEmpty == true)
    }

    @Test func `a summary and details say what a session is and carries`() throws {
        let bench = try Bench()
        let player = try bench.player(from: "192.0.2.9")
        bench.network.wait(5 * second)
        player.type("look")
        bench.network.wait(2 * second)
        let session = try #require(player.session)
        bench.network.run(on: bench.loops[0]) {
            let summary = session.summary
            #expect(summary.id == "c11e1" && summary.address == "192.0.2.9" && summary.isAttached)
            #expect(summary.dialect == "typed" && summary.route == "default" && summary.method == "anonymous")
            #expect(summary.age >= 7_000 && summary.idle >= 2_000 && summary.idle < 5_000)
            #expect(summary.subject == nil && summary.bytesFromClient > 0)
            let detail = session.detail
            #expect(detail.target == "mud.example:4000" && detail.isResumable && detail.endsWithoutClientIn == nil)
            #expect(!SessionLeak.text(of: detail).contains(player.token))
            #expect(!SessionLeak.text(of: detail).contains("look"))
        }
        player.socket.lose()
        bench.network.settle()
        bench.network.run(on: bench.loops[0]) {
            #expect(!session.summary.isAttached && session.detail.endsWithoutClientIn != nil)
        }
    }

    @Test func `an operator's close is told, recorded and final`() throws {
        let bench = try Bench()
        let player = try bench.player()
        let away = try bench.player()
        away.socket.lose()
        bench.network.settle()
        for session in [player, away].compactMap(\.session) + bench.sessions(on: 0) {
            bench.network.run(on: bench.loops[0]) { _ = session.closeForOperator("in a test") }
        }
        bench.network.settle()
        #expect(player.closeReason == "closed_by_operator")
        bench.network.wait(20 * second)
        #expect(bench.sessionCount == 0)
        let actions = bench.audit.filter { $0["event"] == "operation" }
        #expect(actions.count == 2 && actions.allSatisfy { $0["detail"] == "in a test" && $0["outcome"] == "done" })
        let ends = bench.audit.filter { $0["event"] == "session" }
        #expect(ends.count == 2 && ends.allSatisfy { $0["reason"] == "closed_by_operator" })
    }

    @Test func `a filter means sessions by route, subject and address`() throws {
        let bench = try Bench()
        let session = try #require(try bench.player(from: "192.0.2.9").session)
        func isMeant(_ filter: SessionFilter) throws -> Bool {
            session.isMeant(by: try #require(SessionMatcher(filter)))
        }
        #expect(try isMeant(SessionFilter()))
        #expect(try isMeant(SessionFilter(route: "default", address: "192.0.2.0/24")))
        #expect(try !isMeant(SessionFilter(route: "other")))
        #expect(try !isMeant(SessionFilter(address: "192.0.2.8")))
        #expect(try !isMeant(SessionFilter(subject: "")))
        #expect(SessionMatcher(SessionFilter(address: "<script>")) == nil)
    }
}

/// Details as they leave the gateway.
private enum SessionLeak {
    static func text(of detail: SessionDetail) -> String {
        (try? JSONEncoder().encode(detail)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension Bench {
    fileprivate func sessions(on loop: Int) -> [Session] {
        network.run(on: loops[loop]) { tables[loop].keys.compactMap { tables[loop].session($0) as? Session } }
    }
}

/// Lists that come page by page.
struct FirstRankedTests {
    private func ranks(_ count: Int) -> [SessionRank] {
        (0..<count).map { SessionRank(value: UInt64($0 / 3), id: "\($0 % 3)") }
    }

    @Test func `the first of many are found in bounded memory, in whatever order they come`() {
        var generator = SeededGenerator(seed: 7)
        for limit in [1, 2, 10, 99, 100, 101] {
            var first = FirstRanked<Int>(limit: limit)
            var other = FirstRanked<Int>(limit: limit)
            for (number, rank) in ranks(100).enumerated().shuffled(using: &generator) {
                if number % 2 == 0 { first.offer(rank, number) } else { other.offer(rank, number) }
            }
            first.merge(other)
            #expect(first.take().map(\.element) == Array((0..<100).prefix(limit)))
        }
    }

    @Test func `pages have every session once`() throws {
        let all = ranks(95)
        var (found, after): ([SessionRank], SessionRank?) = ([], nil)
        repeat {
            var part = FoundSessions(first: FirstRanked(limit: 11), matching: 95)
            for rank in all where after.map({ rank > $0 }) ?? true {
                part.first.offer(rank, .named("\(rank.value).\(rank.id)"))
            }
            let page = FoundSessions.page([part], limit: 10)
            #expect(page.sessions.count <= 10 && page.matching == 95)
            found += page.sessions.compactMap { summary in all.first { "\($0.value).\($0.id)" == summary.id } }
            after = try page.next.map { try #require(SessionRank($0)) }
        } while after != nil
        #expect(found == all)
    }

    @Test func `a rank is read as it is written`() {
        let rank = SessionRank(value: .max, id: "00ff-x")
        #expect(SessionRank(rank.text) == rank)
        for text in ["", "-", "zz-a", "1", "10000000000000000-a", "1-" + String(repeating: "a", count: 65)] {
            #expect(SessionRank(text) == nil, "\(text)")
        }
    }
}

extension SessionSummary {
    fileprivate static func named(_ id: String) -> SessionSummary {
        SessionSummary(
            id: id, age: 0, idle: 0, dialect: "raw", route: "default", method: "none", subject: nil, address: "::1",
            isAttached: true, bytesFromClient: 0, bytesToClient: 0)
    }
}
