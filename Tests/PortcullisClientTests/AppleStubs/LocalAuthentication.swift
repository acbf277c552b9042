// Stand-in for Apple's module: the signatures of its public interface that the library uses.
public import Foundation

public enum LAPolicy: Int, Sendable {
    case deviceOwnerAuthenticationWithBiometrics = 1
}

public struct LAError: Error {
    public static var errorDomain: String { "com.apple.LocalAuthentication" }
}

open class LAContext: NSObject {
    /// Apple's takes an NSErrorPointer.
    open func canEvaluatePolicy(_ policy: LAPolicy, error: UnsafeMutablePointer<NSError?>?) -> Bool { false }

    open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool { throw LAError() }
}
