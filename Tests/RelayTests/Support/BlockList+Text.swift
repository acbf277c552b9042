@testable import Admission

extension BlockList {
    static func of(_ text: String) throws -> BlockList { try BlockList(text, kinds: []) }
}
