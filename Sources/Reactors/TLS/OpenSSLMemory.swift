import COpenSSL
import Glibc

/// OpenSSL's memory. For each record that it reads or writes OpenSSL 3.0 asks for a buffer of 16 KiB, which it lets go at once because
/// libwebsockets wants no idle connection to hold any, and for the bookkeeping of its packet writer. On a reactor these come from what
/// the last record has left: in the steady state a message allocates nothing.
///
/// All blocks are the C library's own, and it alone knows their sizes: so any may be freed anywhere, here or not.
enum OpenSSLMemory {
    /// Whether OpenSSL takes its memory here: it has to be told before it has taken any. Where it isn't, only speed is lost.
    static let isInstalled =
        CRYPTO_set_mem_functions(
            { size, _, _ in take(size) },
            { block, size, _, _ in realloc(block, size) },
            { block, _, _ in give(block) }) == 1

    /// Whose value is the thread's `SpareBlocks`, at +1; it goes when the thread ends. On all other threads there is none.
    private static let key = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key) { Unmanaged<SpareBlocks>.fromOpaque($0!).release() }
        precondition(result == 0, "pthread_key_create: \(String(cString: strerror(result)))")
        return key
    }()

    /// From here on the calling thread, a reactor's, keeps spare blocks.
    static func keepSpares() {
        guard isInstalled, pthread_getspecific(key) == nil else { return }
        pthread_setspecific(key, Unmanaged.passRetained(SpareBlocks()).toOpaque())
    }

    private static func take(_ size: Int) -> UnsafeMutableRawPointer? {
        guard let spares = pthread_getspecific(key) else { return size > 0 ? malloc(size) : nil }
        return Unmanaged<SpareBlocks>.fromOpaque(spares)._withUnsafeGuaranteedRef { $0.take(size) }
    }

    private static func give(_ block: UnsafeMutableRawPointer?) {
        guard let block, let spares = pthread_getspecific(key) else { return free(block) }
        Unmanaged<SpareBlocks>.fromOpaque(spares)._withUnsafeGuaranteedRef { $0.give(block) }
    }
}

/// Freed blocks of the sizes that every record asks for, kept for the next record. One thread only.
final class SpareBlocks {
    /// The packet writer's bookkeeping.
    static let small = 25...40
    static let keptSmall = 32
    /// A record's buffer: 16,384 bytes of payload with what surrounds it (OpenSSL 3.0: 16,712 to read, 16,584 to write).
    static let large = 16_385...16_712
    static let keptLarge = 8

    @exclusivity(unchecked) private var smallBlocks = FreeList()
    @exclusivity(unchecked) private var largeBlocks = FreeList()

    var count: Int { smallBlocks.count + largeBlocks.count }

    deinit {
        while let block = smallBlocks.pop() ?? largeBlocks.pop() { free(block) }
    }

    /// - Returns: nil for no bytes, as OpenSSL has it, and where there is no memory.
    func take(_ size: Int) -> UnsafeMutableRawPointer? {
        switch size {
        case Self.small: smallBlocks.pop() ?? malloc(Self.small.upperBound)
        case Self.large: largeBlocks.pop() ?? malloc(Self.large.upperBound)
        case 0: nil
        default: malloc(size)
        }
    }

    func give(_ block: UnsafeMutableRawPointer) {
        switch portcullis_usable_size(block) {
        case Self.fitting(Self.small) where smallBlocks.count < Self.keptSmall: smallBlocks.push(block)
        case Self.fitting(Self.large) where largeBlocks.count < Self.keptLarge: largeBlocks.push(block)
        default: free(block)
        }
    }

    /// What is as large as the largest that may be asked for. Of 16 bytes more the C library makes no block of their own.
    private static func fitting(_ sizes: ClosedRange<Int>) -> ClosedRange<Int> {
        sizes.upperBound...sizes.upperBound + 16
    }
}
