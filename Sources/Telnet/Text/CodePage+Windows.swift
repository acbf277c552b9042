/// The upper halves of further code pages, 80 to FF, as the WHATWG Encoding Standard has them. U+FFFD is where a page has no character.
/// What is read from right to left stands there as numbers, since editors would turn it around.
extension CodePage {
    /// windows-874.
    static let windows874 = CodePage(
        """
        €\u{81}\u{82}\u{83}\u{84}…\u{86}\u{87}\u{88}\u{89}\u{8A}\u{8B}\u{8C}\u{8D}\u{8E}\u{8F}\u{90}‘’“”•–—\u{98}\u{99}\u{9A}\
        \u{9B}\u{9C}\u{9D}\u{9E}\u{9F}\u{A0}กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรฤลฦวศษสหฬอฮฯะ\u{E31}าำ\u{E34}\u{E35}\u{E36}\
        \u{E37}\u{E38}\u{E39}\u{E3A}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}฿เแโใไๅๆ\u{E47}\u{E48}\u{E49}\u{E4A}\u{E4B}\u{E4C}\u{E4D}\
        \u{E4E}๏๐๑๒๓๔๕๖๗๘๙๚๛\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}
        """)

    /// windows-1250.
    static let windows1250 = CodePage(
        """
        €\u{81}‚\u{83}„…†‡\u{88}‰Š‹ŚŤŽŹ\u{90}‘’“”•–—\u{98}™š›śťžź\u{A0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{AD}®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔ\
        ŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙
        """)

    /// windows-1253.
    static let windows1253 = CodePage(
        """
        €\u{81}‚ƒ„…†‡\u{88}‰\u{8A}‹\u{8C}\u{8D}\u{8E}\u{8F}\u{90}‘’“”•–—\u{98}™\u{9A}›\u{9C}\u{9D}\u{9E}\u{9F}\u{A0}΅Ά£¤¥¦§¨©\
        \u{FFFD}«¬\u{AD}®―°±²³΄µ¶·ΈΉΊ»Ό½ΎΏΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡ\u{FFFD}ΣΤΥΦΧΨΩΪΫάέήίΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώ\u{FFFD}
        """)

    /// windows-1254.
    static let windows1254 = CodePage(
        """
        €\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}\u{8E}\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}\u{9E}Ÿ\u{A0}¡¢£¤¥¦§¨©ª«¬\u{AD}®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊ\
        ËÌÍÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞßàáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ
        """)

    /// windows-1255.
    static let windows1255 = CodePage(
        """
        €\u{81}‚ƒ„…†‡ˆ‰\u{8A}‹\u{8C}\u{8D}\u{8E}\u{8F}\u{90}‘’“”•–—˜™\u{9A}›\u{9C}\u{9D}\u{9E}\u{9F}\u{A0}¡¢£₪¥¦§¨©×«¬\u{AD}®¯°±\
        ²³´µ¶·¸¹÷»¼½¾¿\u{5B0}\u{5B1}\u{5B2}\u{5B3}\u{5B4}\u{5B5}\u{5B6}\u{5B7}\u{5B8}\u{5B9}\u{5BA}\u{5BB}\u{5BC}\u{5BD}\u{5BE}\
        \u{5BF}\u{5C0}\u{5C1}\u{5C2}\u{5C3}\u{5F0}\u{5F1}\u{5F2}\u{5F3}\u{5F4}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\
        \u{FFFD}\u{5D0}\u{5D1}\u{5D2}\u{5D3}\u{5D4}\u{5D5}\u{5D6}\u{5D7}\u{5D8}\u{5D9}\u{5DA}\u{5DB}\u{5DC}\u{5DD}\u{5DE}\u{5DF}\
        \u{5E0}\u{5E1}\u{5E2}\u{5E3}\u{5E4}\u{5E5}\u{5E6}\u{5E7}\u{5E8}\u{5E9}\u{5EA}\u{FFFD}\u{FFFD}\u{200E}\u{200F}\u{FFFD}
        """)

    /// windows-1256.
    static let windows1256 = CodePage(
        """
        €\u{67E}‚ƒ„…†‡ˆ‰\u{679}‹Œ\u{686}\u{698}\u{688}\u{6AF}‘’“”•–—\u{6A9}™\u{691}›œ\u{200C}\u{200D}\u{6BA}\u{A0}،¢£¤¥¦§¨©\
        \u{6BE}«¬\u{AD}®¯°±²³´µ¶·¸¹\u{61B}»¼½¾\u{61F}\u{6C1}\u{621}\u{622}\u{623}\u{624}\u{625}\u{626}\u{627}\u{628}\u{629}\
        \u{62A}\u{62B}\u{62C}\u{62D}\u{62E}\u{62F}\u{630}\u{631}\u{632}\u{633}\u{634}\u{635}\u{636}×\u{637}\u{638}\u{639}\u{63A}\
        \u{640}\u{641}\u{642}\u{643}à\u{644}â\u{645}\u{646}\u{647}\u{648}çèéêë\u{649}\u{64A}îï\u{64B}\u{64C}\u{64D}\u{64E}ô\
        \u{64F}\u{650}÷\u{651}ù\u{652}ûü\u{200E}\u{200F}\u{6D2}
        """)

    /// windows-1257.
    static let windows1257 = CodePage(
        """
        €\u{81}‚\u{83}„…†‡\u{88}‰\u{8A}‹\u{8C}¨ˇ¸\u{90}‘’“”•–—\u{98}™\u{9A}›\u{9C}¯˛\u{9F}\u{A0}\u{FFFD}¢£¤\u{FFFD}¦§Ø©Ŗ«¬\u{AD}\
        ®Æ°±²³´µ¶·ø¹ŗ»¼½¾æĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽßąįāćäåęēčéźėģķīļšńņóōõö÷ųłśūüżž˙
        """)

    /// windows-1258.
    static let windows1258 = CodePage(
        """
        €\u{81}‚ƒ„…†‡ˆ‰\u{8A}‹Œ\u{8D}\u{8E}\u{8F}\u{90}‘’“”•–—˜™\u{9A}›œ\u{9D}\u{9E}Ÿ\u{A0}¡¢£¤¥¦§¨©ª«¬\u{AD}®¯°±²³´µ¶·¸¹º»¼½¾¿À\
        ÁÂĂÄÅÆÇÈÉÊË\u{300}ÍÎÏĐÑ\u{309}ÓÔƠÖ×ØÙÚÛÜƯ\u{303}ßàáâăäåæçèéêë\u{301}íîïđñ\u{323}óôơö÷øùúûüư₫ÿ
        """)

    /// IBM PC code page 866.
    static let ibm866 = CodePage(
        """
        АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмноп░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀рстуфхцчшщъыьэюяЁёЄєЇїЎў\
        °∙·√№¤■\u{A0}
        """)

    /// KOI8-U, with the letters of Belarusian that WHATWG's list has.
    static let koi8u = CodePage(
        """
        ─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u{A0}⌡°²·÷═║╒ёє╔ії╗╘╙╚╛ґў╞╟╠╡ЁЄ╣ІЇ╦╧╨╩╪ҐЎ©юабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОПЯР\
        СТУЖВЬЫЗШЭЩЧЪ
        """)

    /// Mac OS Roman.
    static let macintosh = CodePage(
        """
        ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{A0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\
        \u{F8FF}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ
        """)

    /// Mac OS Cyrillic, as it is written in Ukraine.
    static let macCyrillic = CodePage(
        """
        АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ†°Ґ£§•¶І®©™Ђђ≠Ѓѓ∞±≤≥іµґЈЄєЇїЉљЊњјЅ¬√ƒ≈∆«»…\u{A0}ЋћЌќѕ–—“”‘’÷„ЎўЏџ№Ёёяабвгдежзийклмнопрст\
        уфхцчшщъыьэю€
        """)
}
