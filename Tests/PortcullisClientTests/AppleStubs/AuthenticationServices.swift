// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

// Stand-in for Apple's module: the signatures of its public interface that the library uses.
public import Foundation

/// On Apple's systems a window of UIKit or AppKit.
@MainActor
public final class ASPresentationAnchor {}

public protocol ASAuthorizationCredential: AnyObject {}

open class ASAuthorizationRequest: NSObject {}

public final class ASAuthorization: NSObject {
    public var credential: any ASAuthorizationCredential { fatalError("a stand-in") }
}

public struct ASAuthorizationError: Error {
    public static var errorDomain: String { "com.apple.AuthenticationServices.AuthorizationError" }
}

@MainActor
public protocol ASAuthorizationControllerDelegate: AnyObject {
    func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization)
    func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error)
}

@MainActor
public protocol ASAuthorizationControllerPresentationContextProviding: AnyObject {
    func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor
}

@MainActor
public final class ASAuthorizationController: NSObject {
    public weak var delegate: (any ASAuthorizationControllerDelegate)?
    public weak var presentationContextProvider: (any ASAuthorizationControllerPresentationContextProviding)?

    public init(authorizationRequests: [ASAuthorizationRequest]) {}

    public func performRequests() {}
}

public struct ASAuthorizationPublicKeyCredentialUserVerificationPreference: Sendable {
    public static let required = ASAuthorizationPublicKeyCredentialUserVerificationPreference()
}

public final class ASAuthorizationPlatformPublicKeyCredentialDescriptor: NSObject {
    public init(credentialID: Data) {}
}

public final class ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest: ASAuthorizationRequest {
    public var userVerificationPreference = ASAuthorizationPublicKeyCredentialUserVerificationPreference.required
    public var excludedCredentials: [ASAuthorizationPlatformPublicKeyCredentialDescriptor]?
}

public final class ASAuthorizationPlatformPublicKeyCredentialAssertionRequest: ASAuthorizationRequest {
    public var userVerificationPreference = ASAuthorizationPublicKeyCredentialUserVerificationPreference.required
    public var allowedCredentials: [ASAuthorizationPlatformPublicKeyCredentialDescriptor] = []
}

public final class ASAuthorizationPlatformPublicKeyCredentialProvider: NSObject {
    public init(relyingPartyIdentifier: String) {}

    public func createCredentialRegistrationRequest(
        challenge: Data, name: String, userID: Data
    ) -> ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest { .init() }

    public func createCredentialAssertionRequest(
        challenge: Data
    ) -> ASAuthorizationPlatformPublicKeyCredentialAssertionRequest { .init() }
}

public final class ASAuthorizationPlatformPublicKeyCredentialRegistration: NSObject, ASAuthorizationCredential {
    public var credentialID: Data { Data() }
    public var rawClientDataJSON: Data { Data() }
    public var rawAttestationObject: Data? { nil }
}

public final class ASAuthorizationPlatformPublicKeyCredentialAssertion: NSObject, ASAuthorizationCredential {
    public var credentialID: Data { Data() }
    public var rawClientDataJSON: Data { Data() }
    public var rawAuthenticatorData: Data! { nil }
    public var signature: Data! { nil }
    public var userID: Data! { nil }
}
