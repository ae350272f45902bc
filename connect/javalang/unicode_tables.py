"""Unicode 13 facts the standard library does not know: scripts, blocks and two properties.

Ranges are hexadecimal and inclusive. The scripts and blocks are those that configs name in
practice; unicode_sets says so when one is missing.
"""

OTHER_ALPHABETIC = (
    "345 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e4 6e7-6e8 6ed "
    "711 730-73f 7a6-7b0 816-817 81b-823 825-827 829-82c 8d4-8df 8e3-8e9 8f0-903 93a-93b 93e-94c "
    "94e-94f 955-957 962-963 981-983 9be-9c4 9c7-9c8 9cb-9cc 9d7 9e2-9e3 a01-a03 a3e-a42 a47-a48 "
    "a4b-a4c a51 a70-a71 a75 a81-a83 abe-ac5 ac7-ac9 acb-acc ae2-ae3 afa-afc b01-b03 b3e-b44 "
    "b47-b48 b4b-b4c b56-b57 b62-b63 b82 bbe-bc2 bc6-bc8 bca-bcc bd7 c00-c03 c3e-c44 c46-c48 "
    "c4a-c4c c55-c56 c62-c63 c81-c83 cbe-cc4 cc6-cc8 cca-ccc cd5-cd6 ce2-ce3 d00-d03 d3e-d44 "
    "d46-d48 d4a-d4c d57 d62-d63 d81-d83 dcf-dd4 dd6 dd8-ddf df2-df3 e31 e34-e3a e4d eb1 eb4-eb9 "
    "ebb-ebc ecd f71-f81 f8d-f97 f99-fbc 102b-1036 1038 103b-103e 1056-1059 105e-1060 1062-1064 "
    "1067-106d 1071-1074 1082-108d 108f 109a-109d 1712-1713 1732-1733 1752-1753 1772-1773 "
    "17b6-17c8 1885-1886 18a9 1920-192b 1930-1938 1a17-1a1b 1a55-1a5e 1a61-1a74 1abf-1ac0 "
    "1b00-1b04 1b35-1b43 1b80-1b82 1ba1-1ba9 1bac-1bad 1be7-1bf1 1c24-1c36 1de7-1df4 24b6-24e9 "
    "2de0-2dff a674-a67b a69e-a69f a802 a80b a823-a827 a880-a881 a8b4-a8c3 a8c5 a8ff a926-a92a "
    "a947-a952 a980-a983 a9b4-a9bf a9e5 aa29-aa36 aa43 aa4c-aa4d aa7b-aa7d aab0 aab2-aab4 "
    "aab7-aab8 aabe aaeb-aaef aaf5 abe3-abea fb1e 10376-1037a 10a01-10a03 10a05-10a06 10a0c-10a0f "
    "10d24-10d27 10eab-10eac 11000-11002 11038-11045 11082 110b0-110b8 11100-11102 11127-11132 "
    "11145-11146 11180-11182 111b3-111bf 111ce-111cf 1122c-11234 11237 1123e 112df-112e8 "
    "11300-11303 1133e-11344 11347-11348 1134b-1134c 11357 11362-11363 11435-11441 11443-11445 "
    "114b0-114c1 115af-115b5 115b8-115be 115dc-115dd 11630-1163e 11640 116ab-116b5 1171d-1172a "
    "1182c-11838 11930-11935 11937-11938 1193b-1193c 11940 11942 119d1-119d7 119da-119df 119e4 "
    "11a01-11a0a 11a35-11a39 11a3b-11a3e 11a51-11a5b 11a8a-11a97 11c2f-11c36 11c38-11c3e "
    "11c92-11ca7 11ca9-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d41 11d43 11d47 11d8a-11d8e "
    "11d90-11d91 11d93-11d96 11ef3-11ef6 16f4f 16f51-16f87 16f8f-16f92 16ff0-16ff1 1bc9e "
    "1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e947 1f130-1f149 1f150-1f169 "
    "1f170-1f189"
)

IDEOGRAPHIC = (
    "3006-3007 3021-3029 3038-303a 3400-4dbf 4e00-9ffc f900-fa6d fa70-fad9 16fe4 17000-187f7 "
    "18800-18cd5 18d00-18d08 1b170-1b2fb 20000-2a6dd 2a700-2b734 2b740-2b81d 2b820-2cea1 "
    "2ceb0-2ebe0 2f800-2fa1d 30000-3134a"
)

SCRIPTS = {
    "LATIN": (
        "41-5a 61-7a aa ba c0-d6 d8-f6 f8-2b8 2e0-2e4 1d00-1d25 1d2c-1d5c 1d62-1d65 1d6b-1d77 "
        "1d79-1dbe 1e00-1eff 2071 207f 2090-209c 212a-212b 2132 214e 2160-2188 2c60-2c7f "
        "a722-a787 a78b-a7bf a7c2-a7ca a7f5-a7ff ab30-ab5a ab5c-ab64 ab66-ab69 fb00-fb06 "
        "ff21-ff3a ff41-ff5a"
    ),
    "GREEK": (
        "370-373 375-377 37a-37d 37f 384 386 388-38a 38c 38e-3a1 3a3-3e1 3f0-3ff 1d26-1d2a "
        "1d5d-1d61 1d66-1d6a 1dbf 1f00-1f15 1f18-1f1d 1f20-1f45 1f48-1f4d 1f50-1f57 1f59 1f5b "
        "1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fc4 1fc6-1fd3 1fd6-1fdb 1fdd-1fef 1ff2-1ff4 1ff6-1ffe "
        "2126 ab65 10140-1018e 101a0 1d200-1d245"
    ),
    "CYRILLIC": ("400-484 487-52f 1c80-1c88 1d2b 1d78 2de0-2dff a640-a69f fe2e-fe2f"),
    "ARMENIAN": ("531-556 559-58a 58d-58f fb13-fb17"),
    "HEBREW": ("591-5c7 5d0-5ea 5ef-5f4 fb1d-fb36 fb38-fb3c fb3e fb40-fb41 fb43-fb44 fb46-fb4f"),
    "ARABIC": (
        "600-604 606-60b 60d-61a 61c 61e 620-63f 641-64a 656-66f 671-6dc 6de-6ff 750-77f 8a0-8b4 "
        "8b6-8c7 8d3-8e1 8e3-8ff fb50-fbc1 fbd3-fd3d fd50-fd8f fd92-fdc7 fdf0-fdfd fe70-fe74 "
        "fe76-fefc 10e60-10e7e 1ee00-1ee03 1ee05-1ee1f 1ee21-1ee22 1ee24 1ee27 1ee29-1ee32 "
        "1ee34-1ee37 1ee39 1ee3b 1ee42 1ee47 1ee49 1ee4b 1ee4d-1ee4f 1ee51-1ee52 1ee54 1ee57 "
        "1ee59 1ee5b 1ee5d 1ee5f 1ee61-1ee62 1ee64 1ee67-1ee6a 1ee6c-1ee72 1ee74-1ee77 "
        "1ee79-1ee7c 1ee7e 1ee80-1ee89 1ee8b-1ee9b 1eea1-1eea3 1eea5-1eea9 1eeab-1eebb "
        "1eef0-1eef1"
    ),
    "DEVANAGARI": ("900-950 955-963 966-97f a8e0-a8ff"),
    "BENGALI": (
        "980-983 985-98c 98f-990 993-9a8 9aa-9b0 9b2 9b6-9b9 9bc-9c4 9c7-9c8 9cb-9ce 9d7 9dc-9dd "
        "9df-9e3 9e6-9fe"
    ),
    "GURMUKHI": (
        "a01-a03 a05-a0a a0f-a10 a13-a28 a2a-a30 a32-a33 a35-a36 a38-a39 a3c a3e-a42 a47-a48 "
        "a4b-a4d a51 a59-a5c a5e a66-a76"
    ),
    "GUJARATI": (
        "a81-a83 a85-a8d a8f-a91 a93-aa8 aaa-ab0 ab2-ab3 ab5-ab9 abc-ac5 ac7-ac9 acb-acd ad0 "
        "ae0-ae3 ae6-af1 af9-aff"
    ),
    "TAMIL": (
        "b82-b83 b85-b8a b8e-b90 b92-b95 b99-b9a b9c b9e-b9f ba3-ba4 ba8-baa bae-bb9 bbe-bc2 "
        "bc6-bc8 bca-bcd bd0 bd7 be6-bfa 11fc0-11ff1 11fff"
    ),
    "TELUGU": (
        "c00-c0c c0e-c10 c12-c28 c2a-c39 c3d-c44 c46-c48 c4a-c4d c55-c56 c58-c5a c60-c63 c66-c6f "
        "c77-c7f"
    ),
    "KANNADA": (
        "c80-c8c c8e-c90 c92-ca8 caa-cb3 cb5-cb9 cbc-cc4 cc6-cc8 cca-ccd cd5-cd6 cde ce0-ce3 "
        "ce6-cef cf1-cf2"
    ),
    "MALAYALAM": ("d00-d0c d0e-d10 d12-d44 d46-d48 d4a-d4f d54-d63 d66-d7f"),
    "THAI": ("e01-e3a e40-e5b"),
    "LAO": ("e81-e82 e84 e86-e8a e8c-ea3 ea5 ea7-ebd ec0-ec4 ec6 ec8-ecd ed0-ed9 edc-edf"),
    "TIBETAN": ("f00-f47 f49-f6c f71-f97 f99-fbc fbe-fcc fce-fd4 fd9-fda"),
    "GEORGIAN": ("10a0-10c5 10c7 10cd 10d0-10fa 10fc-10ff 1c90-1cba 1cbd-1cbf 2d00-2d25 2d27 2d2d"),
    "ETHIOPIC": (
        "1200-1248 124a-124d 1250-1256 1258 125a-125d 1260-1288 128a-128d 1290-12b0 12b2-12b5 "
        "12b8-12be 12c0 12c2-12c5 12c8-12d6 12d8-1310 1312-1315 1318-135a 135d-137c 1380-1399 "
        "2d80-2d96 2da0-2da6 2da8-2dae 2db0-2db6 2db8-2dbe 2dc0-2dc6 2dc8-2dce 2dd0-2dd6 "
        "2dd8-2dde ab01-ab06 ab09-ab0e ab11-ab16 ab20-ab26 ab28-ab2e"
    ),
    "KHMER": ("1780-17dd 17e0-17e9 17f0-17f9 19e0-19ff"),
    "MONGOLIAN": ("1800-1801 1804 1806-180e 1810-1819 1820-1878 1880-18aa 11660-1166c"),
    "HANGUL": (
        "1100-11ff 302e-302f 3131-318e 3200-321e 3260-327e a960-a97c ac00-d7a3 d7b0-d7c6 "
        "d7cb-d7fb ffa0-ffbe ffc2-ffc7 ffca-ffcf ffd2-ffd7 ffda-ffdc"
    ),
    "HIRAGANA": ("3041-3096 309d-309f 1b001-1b11e 1b150-1b152 1f200"),
    "KATAKANA": (
        "30a1-30fa 30fd-30ff 31f0-31ff 32d0-32fe 3300-3357 ff66-ff6f ff71-ff9d 1b000 1b164-1b167"
    ),
    "BOPOMOFO": ("2ea-2eb 3105-312f 31a0-31bf"),
    "HAN": (
        "2e80-2e99 2e9b-2ef3 2f00-2fd5 3005 3007 3021-3029 3038-303b 3400-4dbf 4e00-9ffc "
        "f900-fa6d fa70-fad9 16ff0-16ff1 20000-2a6dd 2a700-2b734 2b740-2b81d 2b820-2cea1 "
        "2ceb0-2ebe0 2f800-2fa1d 30000-3134a"
    ),
    "COMMON": (
        "0-40 5b-60 7b-a9 ab-b9 bb-bf d7 f7 2b9-2df 2e5-2e9 2ec-2ff 374 37e 385 387 605 60c 61b "
        "61f 640 6dd 8e2 964-965 e3f fd5-fd8 10fb 16eb-16ed 1735-1736 1802-1803 1805 1cd3 1ce1 "
        "1ce9-1cec 1cee-1cf3 1cf5-1cf7 1cfa 2000-200b 200e-2064 2066-2070 2074-207e 2080-208e "
        "20a0-20bf 2100-2125 2127-2129 212c-2131 2133-214d 214f-215f 2189-218b 2190-2426 "
        "2440-244a 2460-27ff 2900-2b73 2b76-2b95 2b97-2bff 2e00-2e52 2ff0-2ffb 3000-3004 3006 "
        "3008-3020 3030-3037 303c-303f 309b-309c 30a0 30fb-30fc 3190-319f 31c0-31e3 3220-325f "
        "327f-32cf 32ff 3358-33ff 4dc0-4dff a700-a721 a788-a78a a830-a839 a92e a9cf ab5b "
        "ab6a-ab6b fd3e-fd3f fe10-fe19 fe30-fe52 fe54-fe66 fe68-fe6b feff ff01-ff20 ff3b-ff40 "
        "ff5b-ff65 ff70 ff9e-ff9f ffe0-ffe6 ffe8-ffee fff9-fffd 10100-10102 10107-10133 "
        "10137-1013f 10190-1019c 101d0-101fc 102e1-102fb 16fe2-16fe3 1bca0-1bca3 1d000-1d0f5 "
        "1d100-1d126 1d129-1d166 1d16a-1d17a 1d183-1d184 1d18c-1d1a9 1d1ae-1d1e8 1d2e0-1d2f3 "
        "1d300-1d356 1d360-1d378 1d400-1d454 1d456-1d49c 1d49e-1d49f 1d4a2 1d4a5-1d4a6 "
        "1d4a9-1d4ac 1d4ae-1d4b9 1d4bb 1d4bd-1d4c3 1d4c5-1d505 1d507-1d50a 1d50d-1d514 "
        "1d516-1d51c 1d51e-1d539 1d53b-1d53e 1d540-1d544 1d546 1d54a-1d550 1d552-1d6a5 "
        "1d6a8-1d7cb 1d7ce-1d7ff 1ec71-1ecb4 1ed01-1ed3d 1f000-1f02b 1f030-1f093 1f0a0-1f0ae "
        "1f0b1-1f0bf 1f0c1-1f0cf 1f0d1-1f0f5 1f100-1f1ad 1f1e6-1f1ff 1f201-1f202 1f210-1f23b "
        "1f240-1f248 1f250-1f251 1f260-1f265 1f300-1f6d7 1f6e0-1f6ec 1f6f0-1f6fc 1f700-1f773 "
        "1f780-1f7d8 1f7e0-1f7eb 1f800-1f80b 1f810-1f847 1f850-1f859 1f860-1f887 1f890-1f8ad "
        "1f8b0-1f8b1 1f900-1f978 1f97a-1f9cb 1f9cd-1fa53 1fa60-1fa6d 1fa70-1fa74 1fa78-1fa7a "
        "1fa80-1fa86 1fa90-1faa8 1fab0-1fab6 1fac0-1fac2 1fad0-1fad6 1fb00-1fb92 1fb94-1fbca "
        "1fbf0-1fbf9 e0001 e0020-e007f"
    ),
}

# The four-letter codes of ISO 15924.
SCRIPT_CODES = {
    "LATN": "LATIN",
    "GREK": "GREEK",
    "CYRL": "CYRILLIC",
    "ARMN": "ARMENIAN",
    "HEBR": "HEBREW",
    "ARAB": "ARABIC",
    "DEVA": "DEVANAGARI",
    "BENG": "BENGALI",
    "GURU": "GURMUKHI",
    "GUJR": "GUJARATI",
    "TAML": "TAMIL",
    "TELU": "TELUGU",
    "KNDA": "KANNADA",
    "MLYM": "MALAYALAM",
    "THAI": "THAI",
    "LAOO": "LAO",
    "TIBT": "TIBETAN",
    "GEOR": "GEORGIAN",
    "ETHI": "ETHIOPIC",
    "KHMR": "KHMER",
    "MONG": "MONGOLIAN",
    "HANG": "HANGUL",
    "HIRA": "HIRAGANA",
    "KANA": "KATAKANA",
    "BOPO": "BOPOMOFO",
    "HANI": "HAN",
    "ZYYY": "COMMON",
}

# Keyed by the name in capitals without blanks, hyphens and underscores.
BLOCKS = {
    "BASICLATIN": "0-7f",
    "LATIN1SUPPLEMENT": "80-ff",
    "LATINEXTENDEDA": "100-17f",
    "LATINEXTENDEDB": "180-24f",
    "IPAEXTENSIONS": "250-2af",
    "SPACINGMODIFIERLETTERS": "2b0-2ff",
    "COMBININGDIACRITICALMARKS": "300-36f",
    "GREEKANDCOPTIC": "370-3ff",
    "GREEK": "370-3ff",
    "CYRILLIC": "400-4ff",
    "CYRILLICSUPPLEMENT": "500-52f",
    "ARMENIAN": "530-58f",
    "HEBREW": "590-5ff",
    "ARABIC": "600-6ff",
    "SYRIAC": "700-74f",
    "THAANA": "780-7bf",
    "DEVANAGARI": "900-97f",
    "BENGALI": "980-9ff",
    "GURMUKHI": "a00-a7f",
    "GUJARATI": "a80-aff",
    "ORIYA": "b00-b7f",
    "TAMIL": "b80-bff",
    "TELUGU": "c00-c7f",
    "KANNADA": "c80-cff",
    "MALAYALAM": "d00-d7f",
    "SINHALA": "d80-dff",
    "THAI": "e00-e7f",
    "LAO": "e80-eff",
    "TIBETAN": "f00-fff",
    "MYANMAR": "1000-109f",
    "GEORGIAN": "10a0-10ff",
    "HANGULJAMO": "1100-11ff",
    "ETHIOPIC": "1200-137f",
    "CHEROKEE": "13a0-13ff",
    "KHMER": "1780-17ff",
    "MONGOLIAN": "1800-18af",
    "PHONETICEXTENSIONS": "1d00-1d7f",
    "LATINEXTENDEDADDITIONAL": "1e00-1eff",
    "GREEKEXTENDED": "1f00-1fff",
    "GENERALPUNCTUATION": "2000-206f",
    "SUPERSCRIPTSANDSUBSCRIPTS": "2070-209f",
    "CURRENCYSYMBOLS": "20a0-20cf",
    "LETTERLIKESYMBOLS": "2100-214f",
    "NUMBERFORMS": "2150-218f",
    "ARROWS": "2190-21ff",
    "MATHEMATICALOPERATORS": "2200-22ff",
    "MISCELLANEOUSTECHNICAL": "2300-23ff",
    "CONTROLPICTURES": "2400-243f",
    "ENCLOSEDALPHANUMERICS": "2460-24ff",
    "BOXDRAWING": "2500-257f",
    "BLOCKELEMENTS": "2580-259f",
    "GEOMETRICSHAPES": "25a0-25ff",
    "MISCELLANEOUSSYMBOLS": "2600-26ff",
    "DINGBATS": "2700-27bf",
    "BRAILLEPATTERNS": "2800-28ff",
    "CJKRADICALSSUPPLEMENT": "2e80-2eff",
    "CJKSYMBOLSANDPUNCTUATION": "3000-303f",
    "HIRAGANA": "3040-309f",
    "KATAKANA": "30a0-30ff",
    "BOPOMOFO": "3100-312f",
    "HANGULCOMPATIBILITYJAMO": "3130-318f",
    "ENCLOSEDCJKLETTERSANDMONTHS": "3200-32ff",
    "CJKCOMPATIBILITY": "3300-33ff",
    "CJKUNIFIEDIDEOGRAPHSEXTENSIONA": "3400-4dbf",
    "CJKUNIFIEDIDEOGRAPHS": "4e00-9fff",
    "HANGULSYLLABLES": "ac00-d7af",
    "PRIVATEUSEAREA": "e000-f8ff",
    "CJKCOMPATIBILITYIDEOGRAPHS": "f900-faff",
    "ALPHABETICPRESENTATIONFORMS": "fb00-fb4f",
    "ARABICPRESENTATIONFORMSA": "fb50-fdff",
    "COMBININGHALFMARKS": "fe20-fe2f",
    "CJKCOMPATIBILITYFORMS": "fe30-fe4f",
    "ARABICPRESENTATIONFORMSB": "fe70-feff",
    "HALFWIDTHANDFULLWIDTHFORMS": "ff00-ffef",
    "SPECIALS": "fff0-ffff",
    "EMOTICONS": "1f600-1f64f",
    "MISCELLANEOUSSYMBOLSANDPICTOGRAPHS": "1f300-1f5ff",
    "TRANSPORTANDMAPSYMBOLS": "1f680-1f6ff",
    "SUPPLEMENTALSYMBOLSANDPICTOGRAPHS": "1f900-1f9ff",
}
