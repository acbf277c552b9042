import Admission
import Testing

struct SecretTests {
    @Test func `a secret matches its own bytes and no others`() {
        let bytes = (0..<32).map { UInt8($0) }
        let secret = Secret(bytes)
        #expect(secret.matches(bytes))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(!secret.matches(other))
        }
        #expect(!secret.matches(bytes.dropLast()))
        #expect(!secret.matches(bytes + [0]))
        #expect(!secret.matches([]))
    }

    @Test func `no description shows a secret`() {
        let secret = Secret([0xAB, 0xCD])
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains("171") && !text.contains("205") && !text.lowercased().contains("ab"), "\(text)")
        }
    }
}
