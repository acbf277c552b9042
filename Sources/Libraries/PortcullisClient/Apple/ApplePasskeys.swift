#if canImport(AuthenticationServices)
    public import AuthenticationServices
    import Foundation

    /// Passkeys of the system. The app needs the entitlement *Associated Domains* with `webcredentials:` and the
    /// domain.
    public struct ApplePasskeys: PasskeyAuthenticator {
        private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

        /// - Parameter anchor: the window over which the system shows its dialog.
        public init(anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

        public func create(_ options: PasskeyCreationOptions) async throws -> PasskeyCredential {
            try await PasskeyDialog.show(over: anchor) {
                let request = ASAuthorizationPlatformPublicKeyCredentialProvider(
                    relyingPartyIdentifier: options.relyingParty
                ).createCredentialRegistrationRequest(
                    challenge: options.challenge, name: options.userName, userID: options.userID)
                request.userVerificationPreference = .required
                // Earlier systems replace a passkey of the account that they have.
                if #available(iOS 17.4, macOS 13.5, *) {
                    request.excludedCredentials = options.excluded.map {
                        ASAuthorizationPlatformPublicKeyCredentialDescriptor(credentialID: $0)
                    }
                }
                return request
            }
        }

        public func get(_ options: PasskeyRequestOptions) async throws -> PasskeyCredential {
            try await PasskeyDialog.show(over: anchor) {
                let request = ASAuthorizationPlatformPublicKeyCredentialProvider(
                    relyingPartyIdentifier: options.relyingParty
                ).createCredentialAssertionRequest(challenge: options.challenge)
                request.userVerificationPreference = .required
                request.allowedCredentials = options.allowed.map {
                    ASAuthorizationPlatformPublicKeyCredentialDescriptor(credentialID: $0)
                }
                return request
            }
        }
    }

    /// One dialog. The controller doesn't keep its delegate, so this waits for the end.
    @MainActor
    private final class PasskeyDialog: NSObject, ASAuthorizationControllerDelegate,
        ASAuthorizationControllerPresentationContextProviding
    {
        private let window: ASPresentationAnchor
        private let outcome = Race<PasskeyCredential>()

        private init(_ window: ASPresentationAnchor) { self.window = window }

        static func show(
            over anchor: @MainActor @Sendable () -> ASPresentationAnchor,
            _ request: @MainActor @Sendable () -> ASAuthorizationRequest
        ) async throws -> PasskeyCredential {
            let dialog = PasskeyDialog(anchor())
            let controller = ASAuthorizationController(authorizationRequests: [request()])
            controller.delegate = dialog
            controller.presentationContextProvider = dialog
            controller.performRequests()
            defer { withExtendedLifetime((dialog, controller)) {} }
            return try await withTaskCancellationHandler {
                try await dialog.outcome.value()
            } onCancel: {
                dialog.outcome.finish(.failure(CancellationError()))
            }
        }

        func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor { window }

        func authorizationController(
            controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
        ) {
            switch authorization.credential {
            case let made as ASAuthorizationPlatformPublicKeyCredentialRegistration:
                let credential = PasskeyCredential(
                    registration: made.credentialID, clientDataJSON: made.rawClientDataJSON,
                    attestationObject: Self.bytes(made.rawAttestationObject))
                outcome.finish(.success(credential))
            case let used as ASAuthorizationPlatformPublicKeyCredentialAssertion:
                let credential = PasskeyCredential(
                    assertion: used.credentialID, clientDataJSON: used.rawClientDataJSON,
                    authenticatorData: Self.bytes(used.rawAuthenticatorData), signature: Self.bytes(used.signature),
                    userHandle: Self.bytes(used.userID))
                outcome.finish(.success(credential))
            default: outcome.finish(.failure(PasskeyFailure.malformed))
            }
        }

        func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
            let (error, own) = (error as NSError, ASAuthorizationError.errorDomain)
            outcome.finish(.failure(PasskeyFailure(domain: error.domain, code: error.code, own: own)))
        }

        /// Apple declares these without saying whether they are there.
        private static func bytes(_ data: Data?) -> Data { data ?? Data() }
    }
#endif
